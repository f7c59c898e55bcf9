"""Which test shows which item of the facts on NapCat: S its failure modes, A and O our answers.

A name is `FILE::TEST` below tests/; `test_covered` holds that all are there and none is forgotten.
Each S and O item has a test through a real socket against the stand-in.
"""

from typing import Final

_DOUBT, _SENDS, _PAUSES = (
    "napcat/test_outbox_reconciliation",
    "napcat/test_outbox_sends",
    ("napcat/test_outbox_pauses"),
)
_LINK, _CATCH_UP, _TRANSPORT = "napcat/test_link", "napcat/test_catch_up", "napcat/test_transport"
_HEARS, _READS, _KILL = (
    "napcat/test_service_hears",
    "napcat/test_service_reads",
    "napcat/test_outbox_kill",
)
_PARTS, _ONEBOT, _ANSWERS = (
    "napcat/test_parts",
    "napcat/test_onebot_messages",
    "napcat/test_onebot_answers",
)
_BOUNDARY = "attack/test_group_boundary"

COVERED: Final[dict[str, tuple[str, ...]]] = {
    "S01": (f"{_DOUBT}::test_what_was_delivered_is_sent_once",),
    "S02": (
        f"{_DOUBT}::test_what_was_lost_is_sent_once_more_and_flagged",
        f"{_LINK}::test_a_napcat_that_answers_nothing_is_left",
    ),
    "S03": (
        f"{_PAUSES}::test_a_mute_that_nobody_announced_is_learnt_from_the_refusal",
        f"{_PAUSES}::test_after_a_removal_nothing_is_sent",
        f"{_PAUSES}::test_a_network_refusal_pauses_for_a_while",
    ),
    "S04": (f"{_LINK}::test_a_call_that_nobody_answers_ends_by_its_own_deadline",),
    "S05": (
        f"{_LINK}::test_a_call_in_flight_at_a_drop_says_that_it_was_written",
        f"{_DOUBT}::test_what_was_delivered_is_sent_once_though_no_event_tells",
    ),
    "S06": (f"{_SENDS}::test_our_message_may_show_before_its_answer",),
    "S07": (
        f"{_LINK}::test_colliding_ids_and_duplicates_all_reach_intake",
        f"{_BOUNDARY}::test_the_same_message_delivered_again_does_nothing",
    ),
    "S08": (f"{_READS}::test_two_messages_that_share_an_id_are_two_messages",),
    "S09": (
        f"{_LINK}::test_ids_may_be_digit_strings",
        f"{_HEARS}::test_a_message_with_odd_fields_is_stored_once_and_the_service_lives",
        f"{_HEARS}::test_the_same_message_under_another_id_makes_one_task",
    ),
    "S10": (f"{_SENDS}::test_a_quote_that_napcat_forgot_costs_only_the_quote",),
    "S11": (
        f"{_CATCH_UP}::test_what_was_missed_comes_from_the_history_in_order",
        f"{_HEARS}::test_mentions_from_an_hour_ago_get_one_line_and_no_task",
    ),
    "S12": (
        f"{_CATCH_UP}::test_what_lies_beyond_the_bound_is_a_gap",
        "peers/test_node_client::test_history_is_read_forward_and_backward",
    ),
    "S13": (
        f"{_READS}::test_the_window_has_the_groups_order_whatever_the_order_of_arrival",
        f"{_LINK}::test_answers_find_their_calls_in_any_order",
    ),
    "S14": (f"{_READS}::test_nothing_but_a_real_mention_makes_a_task",),
    "S15": (f"{_READS}::test_nothing_but_a_real_mention_makes_a_task",),
    "S16": (f"{_READS}::test_a_bare_mention_is_told_how_to_ask_and_with_a_quote_it_is_a_task",),
    "S17": (
        f"{_READS}::test_an_empty_message_is_a_message",
        f"{_READS}::test_nothing_but_a_real_mention_makes_a_task",
    ),
    "S18": (f"{_READS}::test_a_name_or_a_rank_of_qq_gives_nobody_a_right",),
    "S19": (f"{_DOUBT}::test_a_message_from_the_accounts_phone_is_audited_as_not_ours",),
    "S20": (f"{_LINK}::test_a_wrong_token_is_seen_and_tried_rarely",),
    "S21": (f"{_LINK}::test_an_account_that_goes_offline_is_not_ready_until_it_is_back",),
    "S22": (
        f"{_LINK}::test_a_frozen_peer_is_left",
        f"{_LINK}::test_silence_of_heartbeats_is_no_fault",
        f"{_CATCH_UP}::test_a_message_in_a_frame_that_stalls_comes_from_the_history",
    ),
    "S23": (
        f"{_LINK}::test_each_end_makes_one_new_connection",
        f"{_HEARS}::test_a_storm_of_broken_connections_ends_in_one_and_loses_nothing",
    ),
    "S24": (f"{_READS}::test_of_media_only_metadata_is_kept_and_no_address",),
    "S25": (
        f"{_SENDS}::test_codes_in_a_text_stay_text",
        f"{_HEARS}::test_a_message_with_odd_fields_is_stored_once_and_the_service_lives",
    ),
    "A1": (
        f"{_LINK}::test_each_end_makes_one_new_connection",
        f"{_PARTS}::test_the_backoff_doubles_to_its_cap_with_full_jitter",
        f"{_LINK}::test_a_token_that_is_right_again_is_tried_again",
    ),
    "A2": (
        f"{_TRANSPORT}::test_the_token_travels_in_the_header_and_not_in_the_address",
        f"{_TRANSPORT}::test_a_redirect_does_not_carry_the_token_away",
        f"{_TRANSPORT}::test_proxies_of_the_environment_are_not_used",
        f"{_TRANSPORT}::test_settings_that_cannot_work_are_refused_at_once",
    ),
    "A3": (
        f"{_LINK}::test_a_frozen_peer_is_left",
        f"{_LINK}::test_a_quiet_peer_that_answers_pings_is_kept",
    ),
    "A4": (
        f"{_LINK}::test_a_login_as_somebody_else_is_never_ready",
        f"{_LINK}::test_a_group_we_are_not_in_is_never_ready",
        f"{_LINK}::test_heartbeats_that_lag_behind_the_logout_are_not_believed",
    ),
    "A5": (
        f"{_LINK}::test_other_groups_leave_nothing_in_queue_or_logs",
        f"{_BOUNDARY}::test_a_message_of_another_group_leaves_no_trace",
        f"{_BOUNDARY}::test_a_forged_account_or_a_private_message_is_nobody",
        f"{_HEARS}::test_a_message_that_cannot_be_believed_is_not_stored_and_the_service_lives",
    ),
    "A6": (
        f"{_READS}::test_two_messages_that_share_an_id_are_two_messages",
        "stores/test_messages::test_without_a_sequence_sender_and_time_tell_messages_apart",
        "flood/test_flood::test_a_flood_is_stored_once_and_status_is_answered_throughout",
    ),
    "A7": (
        f"{_READS}::test_the_window_has_the_groups_order_whatever_the_order_of_arrival",
        f"{_ONEBOT}::test_a_time_may_come_in_milliseconds",
    ),
    "A8": (f"{_READS}::test_nothing_but_a_real_mention_makes_a_task",),
    "A9": (
        f"{_ONEBOT}::test_a_segment_is_shown_by_a_placeholder",
        f"{_READS}::test_of_media_only_metadata_is_kept_and_no_address",
    ),
    "A10": (
        f"{_ONEBOT}::test_text_is_cleaned",
        f"{_HEARS}::test_odd_segments_cost_their_message_alone",
    ),
    "A11": (f"{_ONEBOT}::test_both_formats_give_the_same_message_over_the_socket",),
    "A12": (f"{_DOUBT}::test_a_message_from_the_accounts_phone_is_audited_as_not_ours",),
    "A13": (
        f"{_READS}::test_a_trigger_that_is_recalled_before_it_began_is_cancelled",
        f"{_HEARS}::test_a_recall_that_names_another_author_takes_nothing_back",
        f"{_PAUSES}::test_a_mute_pauses_until_it_is_lifted",
        f"{_LINK}::test_a_removal_is_not_ready_at_once",
    ),
    "A14": (
        f"{_CATCH_UP}::test_what_was_missed_comes_from_the_history_in_order",
        f"{_CATCH_UP}::test_a_crash_in_the_middle_of_a_catch_up_loses_nothing",
        f"{_CATCH_UP}::test_a_crash_after_a_command_overtook_a_flood_loses_nothing",
        f"{_CATCH_UP}::test_numbers_that_went_back_make_nobody_deaf",
        f"{_HEARS}::test_mentions_from_an_hour_ago_get_one_line_and_no_task",
    ),
    "A15": (f"{_LINK}::test_actions_off_the_list_never_leave",),
    "A16": (
        f"{_CATCH_UP}::test_a_full_queue_reconnects_and_loses_nothing",
        f"{_HEARS}::test_ten_megabytes_of_segments_cost_the_connection_and_nothing_else",
        f"{_CATCH_UP}::test_a_message_that_no_frame_holds_is_a_gap_and_makes_nobody_deaf",
    ),
    "O1": (
        f"{_DOUBT}::test_what_was_being_sent_at_a_crash_is_looked_up",
        f"{_KILL}::test_kills_between_write_and_answer_double_nothing",
    ),
    "O2": (
        f"{_ANSWERS}::test_a_send_is_segments_with_ids_as_strings_and_a_deadline",
        f"{_SENDS}::test_an_enqueued_text_reaches_the_group_once",
    ),
    "O3": (
        f"{_SENDS}::test_what_was_surely_not_sent_is_tried_five_times",
        f"{_PAUSES}::test_offline_pauses_until_the_account_is_back",
        f"{_PAUSES}::test_rows_wait_for_a_connection_and_lose_no_attempt",
    ),
    "O4": (
        f"{_DOUBT}::test_what_was_delivered_is_sent_once",
        f"{_DOUBT}::test_what_is_lost_twice_is_given_up_with_an_alert",
        f"{_DOUBT}::test_without_a_readable_history_nothing_is_repeated",
        f"{_HEARS}::test_a_clock_of_qq_that_is_behind_doubles_nothing",
        f"{_DOUBT}::test_a_busy_groups_history_is_read_back_to_the_attempt",
        f"{_KILL}::test_kills_between_write_and_answer_double_nothing",
    ),
    "O5": (f"{_SENDS}::test_a_napcat_that_reports_no_own_messages_is_noticed",),
    "O6": (
        f"{_SENDS}::test_sends_keep_their_pace",
        f"{_SENDS}::test_no_more_than_so_many_go_out_in_a_minute",
        f"{_SENDS}::test_a_busy_member_hears_so_once_in_a_while",
    ),
    "O7": (
        f"{_SENDS}::test_codes_in_a_text_stay_text",
        f"{_SENDS}::test_a_reply_quotes_and_mentions_by_id",
    ),
    "O8": (
        f"{_SENDS}::test_a_long_text_comes_in_numbered_parts_in_order",
        f"{_SENDS}::test_beyond_four_parts_the_group_reads_a_plain_hint",
    ),
    "O9": (f"{_SENDS}::test_a_secret_that_an_older_rule_set_missed_leaves_redacted",),
}
