"""Which test shows which behaviour that the specification demands of tasks, approvals and policy.

The keys are its own words (必须覆盖的行为); a name is `FILE::TEST` below tests/. `test_covered`
holds that all of them are there. What belongs to other rooms (sandbox life, web, clusters, memory)
stands elsewhere.
"""

from typing import Final

_APPROVALS, _BOUND = "attack/test_approvals", "attack/test_bound_tickets"
_BOUNDARY, _HANGS = "attack/test_group_boundary", "attack/test_hanging_models"
_BUDGETS, _HYGIENE, _LEVELS = (
    "behaviour/test_budgets",
    "behaviour/test_hygiene",
    "behaviour/test_levels",
)
_POLICY, _REFUSED = "behaviour/test_policy", "behaviour/test_refused_plans"
_SLOW, _WINDOW = "behaviour/test_timeouts_and_retries", "behaviour/test_window"
_CRASH, _STOPS = "crash/test_every_point", "crash/test_ordered_stops"
_JOB, _UNKNOWN = "behaviour/test_the_main_job", "recovery/test_unknown_outcomes"
_RACE, _HANDS = "race/test_owners_at_once", "race/test_tickets_at_once"
_STALE, _STUCK = "attack/test_stale_loops", "recovery/test_stuck_things"

COVERED: Final[dict[str, tuple[str, ...]]] = {
    "目标群隔离": (f"{_BOUNDARY}::test_a_message_of_another_group_leaves_no_trace",),
    "消息 ID 去重": (f"{_BOUNDARY}::test_the_same_message_delivered_again_does_nothing",),
    "未提及不建任务": (f"{_JOB}::test_talk_without_a_mention_makes_no_task",),
    "窗口三重上限": (
        f"{_WINDOW}::test_at_most_thirty_messages_count_the_trigger_among_them",
        f"{_WINDOW}::test_at_most_24000_characters_count_the_trigger_among_them",
        f"{_WINDOW}::test_talk_older_than_a_quarter_of_an_hour_stays_out_unless_it_is_quoted",
        "session/test_window::test_all_limits_hold_together_and_nothing_is_torn",
    ),
    "忙碌回复": (
        f"{_BOUNDARY}::test_while_a_task_is_alive_a_second_mention_gets_busy_and_makes_no_task",
        f"{_RACE}::test_of_three_mentions_in_the_same_millisecond_one_becomes_the_task",
        "commands/test_texts::test_a_busy_answer_says_who_and_for_how_long",
    ),
    "Outbox 幂等": ("napcat/test_outbox_reconciliation::test_what_was_delivered_is_sent_once",),
    "状态机重启恢复": (
        f"{_CRASH}::test_a_kill_at_any_point_does_nothing_twice_and_the_group_is_told_once",
        f"{_STOPS}::test_any_number_of_ordered_stops_costs_a_task_nothing",
        f"{_STOPS}::test_three_crashes_end_a_task_and_say_why",
        (
            "recovery/test_actors_that_die"
            "::test_an_actor_that_dies_ends_the_process_and_the_next_one_finishes_the_task"
        ),
    ),
    "重复事件": (f"{_BOUNDARY}::test_the_same_message_delivered_again_does_nothing",),
    "模型重试": (
        f"{_SLOW}::test_a_model_turn_that_failed_is_asked_for_again_and_no_call_is_done_twice",
        f"{_SLOW}::test_a_model_that_keeps_failing_ends_the_task_which_says_what_was_done",
    ),
    "工具超时": (
        f"{_SLOW}::test_a_command_that_exceeds_its_time_is_stopped_and_not_repeated",
        f"{_STUCK}::test_a_session_that_does_not_end_a_cancelled_step_brings_the_process_down",
    ),
    "取消": (
        f"{_HANGS}::test_status_answers_and_cancel_closes_the_socket_while_a_model_hangs",
        f"{_HANGS}::test_a_running_command_ends_with_the_cancel",
        f"{_STALE}::test_a_call_of_a_task_that_has_ended_meanwhile_does_nothing",
        f"{_STALE}::test_an_answer_of_a_task_that_has_ended_meanwhile_is_told_to_nobody",
    ),
    "结果不明": (
        f"{_UNKNOWN}::test_an_unknown_deletion_ends_the_task_frees_the_slot_and_is_not_repeated",
        f"{_UNKNOWN}::test_an_owner_sees_the_queue_and_closes_an_operation_with_a_reason",
        f"{_UNKNOWN}::test_a_node_that_remembers_later_settles_the_operation_by_itself",
    ),
    "高风险动作不无条件重放": (
        f"{_CRASH}::test_a_kill_at_any_point_does_nothing_twice_and_the_group_is_told_once",
        (
            "recovery/test_kill_nine"
            "::test_an_approval_that_was_waited_for_when_the_service_died_still_runs_exactly_once"
        ),
    ),
    "`.approve`/`.deny` 的群": (
        f"{_BOUND}::test_an_owner_cannot_approve_from_another_group_or_in_private",
    ),
    "Owner": (
        f"{_APPROVALS}::test_somebody_who_is_no_owner_cannot_approve_with_the_right_code",
        f"{_BOUND}::test_somebody_who_is_no_owner_any_more_cannot_approve_what_he_was_asked",
    ),
    "任务": (
        f"{_APPROVALS}::test_cancelling_the_task_makes_its_ticket_worthless",
        f"{_BOUND}::test_a_consumed_ticket_is_refused_in_a_later_task_and_after_a_restart",
    ),
    "计划哈希": (
        f"{_BOUND}::test_a_target_that_changed_after_the_question_needs_a_new_approval",
        f"{_BOUND}::test_wording_is_no_part_of_what_is_approved",
    ),
    "短码": (
        (
            f"{_APPROVALS}"
            "::test_a_wrong_code_is_refused_and_five_of_them_close_the_ticket_for_the_right_one"
        ),
    ),
    "过期": (
        f"{_APPROVALS}::test_a_ticket_is_worthless_after_ten_minutes",
        f"{_RACE}::test_around_the_tenth_minute_a_ticket_pays_in_time_or_not_at_all",
    ),
    "一次性消费": (
        f"{_APPROVALS}::test_an_approved_delete_runs_once_and_the_same_approval_again_is_refused",
        f"{_RACE}::test_of_two_approvals_and_a_denial_in_the_same_millisecond_one_counts",
        f"{_HANDS}::test_an_approved_ticket_is_spent_once_or_dies_once",
    ),
    "修改任一计划字段必须使旧票据失效": (
        f"{_BOUND}::test_any_change_of_a_plan_makes_another_plan",
        "commands/test_approval_text::test_every_field_that_the_hash_covers_is_shown",
    ),
    "审批消息不得进入 Session": (
        f"{_APPROVALS}::test_ticket_code_and_commands_never_reach_the_model",
        f"{_APPROVALS}::test_an_approval_behind_a_mention_is_a_command_and_nothing_else",
        f"{_APPROVALS}::test_a_forwarded_approval_puts_neither_id_nor_code_into_a_request",
        (
            "attack/test_tickets_in_talk"
            "::test_neither_id_nor_code_of_an_approval_reaches_the_model_however_it_is_repeated"
        ),
    ),
    "Low/Medium/High/Block 的外部行为": (
        f"{_LEVELS}::test_a_low_action_runs_without_asking_and_is_audited",
        f"{_LEVELS}::test_medium_actions_of_one_turn_are_announced_in_one_message",
        f"{_LEVELS}::test_a_high_action_waits_and_says_whom_it_waits_for",
        f"{_LEVELS}::test_an_action_that_the_policy_does_not_list_is_refused_and_audited",
        f"{_POLICY}::test_everything_that_the_specification_lists_stands_in_the_policy_by_name",
        (
            "attack/test_untouchable"
            "::test_nothing_that_a_model_does_changes_policy_owners_limits_tools_or_context"
        ),
    ),
    "结构化参数": (f"{_LEVELS}::test_arguments_that_do_not_fit_the_schema_run_nothing",),
    "输出保护": (
        (
            "attack/test_outputs"
            "::test_a_credential_in_a_file_is_written_as_given_and_comes_back_to_nobody"
        ),
    ),
    "长期凭据拒绝": (
        f"{_REFUSED}::test_a_risky_plan_that_holds_a_credential_is_refused_and_kept_nowhere",
    ),
    "默认工具关闭、工具 allowlist": (
        f"{_LEVELS}::test_the_model_is_offered_the_structured_tools_and_nothing_else",
    ),
    "资料标记": (f"{_HYGIENE}::test_a_result_cannot_close_its_own_frame",),
    "审计可回看性": (
        (
            f"{_LEVELS}"
            "::test_plan_parameters_identity_target_ticket_and_result_of_an_action_can_be_read_back"
        ),
    ),
    "白名单": (f"{_JOB}::test_people_who_are_not_listed_get_no_task_and_no_reply",),
    "初始上下文配置": (
        (
            "behaviour/test_context"
            "::test_the_configured_context_reaches_the_model_with_its_version_between_the_rules"
        ),
        "behaviour/test_context::test_a_credential_in_the_context_reaches_nobody",
    ),
    "超大触发消息": (
        f"{_WINDOW}::test_a_request_that_alone_is_too_long_makes_no_task_and_says_so",
    ),
    "Unicode/占位符截断": (
        "session/test_window::test_all_limits_hold_together_and_nothing_is_torn",
        (
            "session/test_final_message"
            "::test_a_long_answer_is_cut_and_said_to_be_without_tearing_a_placeholder"
        ),
    ),
    "沙箱描述复核": (
        (
            f"{_HYGIENE}"
            "::test_after_sandbox_work_the_model_reviews_the_description_once_and_its_answer_stays"
        ),
    ),
    "审批目标变化": (
        f"{_BOUND}::test_a_target_that_changed_after_the_question_needs_a_new_approval",
        f"{_BOUND}::test_a_target_that_is_gone_at_the_approval_voids_the_ticket_and_says_so",
    ),
}
WITHOUT_AN_ITEM: Final = frozenset({"资料标记", "沙箱描述复核"})
"""Demanded behaviour that none of the twenty acceptance items speaks of."""
