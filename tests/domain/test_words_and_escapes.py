"""Durations, ends, faults and foreign text, each in the very words that the group reads."""

from datetime import UTC, timedelta, timezone

import pytest

from perlica.domain.ids import TaskId
from perlica.domain.node import NodeState
from perlica.domain.task import TaskState
from perlica.domain.texts import notices, sandboxes
from perlica.domain.texts.endings import did_fail, say_ending
from perlica.domain.texts.escape import clip_line, escape_visible, sanitise_lines
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.language import Language, Text, say_duration, say_list, say_time
from perlica.domain.texts.visible import is_invisible, is_turned, without_invisible
from perlica.gateway.known_actions import CATALOG

ZH, EN = Language.zh, Language.en
TASK = TaskId("T-222222")


@pytest.mark.parametrize(
    ("duration_ms", "said"),
    [
        (-5_000, "0 s"),
        (999, "0 s"),
        (1_000, "1 s"),
        (59_999, "59 s"),
        (60_000, "1 min 0 s"),
        (61_000, "1 min 1 s"),
        (3_599_000, "59 min 59 s"),
        (3_600_000, "1 h 0 min"),
        (86_399_000, "23 h 59 min"),
        (86_400_000, "1 d 0 h"),
        (604_800_000, "7 d 0 h"),
    ],
)
def test_a_duration_is_said_with_its_two_largest_units(duration_ms: int, said: str) -> None:
    assert say_duration(duration_ms, EN) == said


def test_a_time_is_said_with_its_distance_from_utc() -> None:
    zone = timezone(timedelta(hours=-3, minutes=-30))

    assert say_time(1_000, UTC) == "00:00:01 (UTC+00:00)"
    assert say_time(0, zone) == "20:30:00 (UTC-03:30)"


def test_a_text_speaks_the_language_that_was_asked_for() -> None:
    text = Text(zh="{a} 中", en="{a}{b}")

    assert text.say(ZH, a=1) == "1 中"
    assert text.say(EN, a=1, b=2) == "12"
    assert [sorted(text.fields(language)) for language in (ZH, EN)] == [["a"], ["a", "b"]]
    assert (say_list(["x", "y"], ZH), say_list(["x", "y"], EN)) == ("x、y", "x, y")


@pytest.mark.parametrize(
    ("state", "facts", "failed", "said"),
    [
        ("queued", {"exit_code": 3, "ended": "timed_out"}, False, ""),
        ("unknown", {"exit_code": 3}, False, ""),
        ("succeeded", {}, False, ""),
        ("succeeded", {"ended": "exited", "exit_code": 0}, False, ""),
        ("succeeded", {"ended": "exited", "exit_code": None}, False, ""),
        ("succeeded", {"ended": "exited", "exit_code": 3}, True, "failed (exit code 3)"),
        ("succeeded", {"exit_code": 1}, True, "failed (exit code 1)"),
        ("succeeded", {"ended": "timed_out"}, True, "failed (stopped at its time limit)"),
        ("succeeded", {"ended": 5}, False, ""),
        ("failed", {}, True, ""),
        ("failed", {"exit_code": 0}, True, ""),
        ("failed", {"ended": "failed_to_start"}, True, "failed (could not start)"),
        ("failed", {"ended": "cancelled"}, True, "failed (stopped)"),
        ("failed", {"ended": "signalled"}, True, "failed (ended by a signal)"),
        (
            "failed",
            {"ended": "signalled", "signal": 9},
            True,
            "failed (ended by a signal (SIGKILL))",
        ),
        ("failed", {"ended": "signalled", "signal": 99}, True, "failed (ended by a signal (99))"),
        (
            "failed",
            {"ended": "exited", "exit_code": 137, "out_of_memory": True},
            True,
            "failed (exit code 137, out of memory)",
        ),
        ("failed", {"exit_code": 1, "out_of_memory": 1}, True, "failed (exit code 1)"),
        ("failed", {"exit_code": "3"}, True, ""),
        (
            "succeeded",
            {"ended": "exited", "exit_code": 0, "out_of_memory": True},
            False,
            "done, but a process was killed meanwhile: out of memory",
        ),
    ],
)
def test_an_end_is_called_what_it_was(
    state: str, facts: dict[str, object], failed: bool, said: str
) -> None:
    assert did_fail(state, facts) is failed
    assert say_ending(state, facts, EN) == said


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("", ""),
        ("a b", "a b"),
        ("a  b", "a⟨␠x2⟩b"),
        (" a ", "⟨␠x1⟩a⟨␠x1⟩"),
        ("!~", "!~"),
        ("\x20\x7f", "⟨␠x1⟩\\u{7f}"),
        ("\\\n\r\t", "\\\\\\n\\r\\t"),
        ("Àÿ", "Àÿ"),
        ("\xbf", "\\u{bf}"),
        ("\u0100", "\\u{100}"),
        ("ぁゖ", "ぁゖ"),
        ("\u3040\u3097", "\\u{3040}\\u{3097}"),
        ("ァヺ", "ァヺ"),
        ("\u30a0\u30fb", "\\u{30a0}\\u{30fb}"),
        ("㐀䶿", "㐀䶿"),
        ("\u33ff\u4dc0", "\\u{33ff}\\u{4dc0}"),
        ("一鿿", "一鿿"),
        ("\ua000", "\\u{a000}"),
        ("가힣", "가힣"),
        ("\uabff\ud7a4", "\\u{abff}\\u{d7a4}"),
        ("\U00020000\U0003134a", "\U00020000\U0003134a"),
        ("\U0001ffff\U0003134b\U00031350", "\\u{1ffff}\\u{3134b}\\u{31350}"),
        ("。《》ー々〇", "。《》ー々〇"),
        ("\u202e\u200b⟨", "\\u{202e}\\u{200b}\\u{27e8}"),
    ],
)
def test_foreign_text_is_shown_sign_by_sign(foreign: str, shown: str) -> None:
    assert escape_visible(foreign) == shown


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [("abc", "abc"), ("abcd", "ab…"), ("a\n", "a\\n"), ("ab\n", "ab…"), ("", "")],
)
def test_a_line_that_is_clipped_says_so_inside_its_room(foreign: str, shown: str) -> None:
    assert clip_line(foreign, 3) == shown


def test_only_what_fits_and_one_sign_more_of_a_long_text_is_looked_at() -> None:
    assert clip_line("ab" + " " * 50, 3) == "ab…"
    assert clip_line("x" * 500, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ("a\n.status", "a\n› .status"),
        ("．status", "› ．status"),
        ("。好", "› 。好"),
        ("【x】", "› 【x】"),
        ("  \u200b.status", "› .status"),
        ("\u0301.status", "› .status"),
        ("  indented", "  indented"),
        ("\u200bword", "\u200bword"),
        ("a\r\nb\u2028c\x0bd", "a\nb\nc\nd"),
        ("a\u202eb", "ab"),
        ("a\n \nb", "a\n\nb"),
        ("...", "› ..."),
        ("a.b", "a.b"),
    ],
)
def test_no_line_of_an_answer_looks_like_a_command(answer: str, sent: str) -> None:
    assert sanitise_lines(answer) == sent


def test_what_nobody_sees_is_told_from_what_takes_room() -> None:
    assert without_invisible("a\u200b b\u3164\nc") == "a b\nc"
    assert without_invisible("plain") == "plain"
    assert without_invisible("a\x00b") == "ab"
    assert [is_invisible(sign) for sign in "\u2800\u0301 \u3000\na中"] == [True] * 2 + [False] * 5


def test_only_a_sign_that_turns_a_line_makes_it_turned() -> None:
    assert is_turned("中\u202e")
    assert not is_turned("中\u200b")
    assert not is_turned("abc")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("", ""),
        ("other_group", "it belongs to another group"),
        ("some_new_code", "some_new_code"),
        ("a" * 60, "a" * 60),
        ("a" * 61, "another reason; the log has the details"),
        ("A sentence for a log.", "another reason; the log has the details"),
        ("main@node-1: other_group", "main@node-1: it belongs to another group"),
        ("no place: other_group", "it belongs to another group"),
        ("x: y: other_group", "it belongs to another group"),
        (f"{'m' * 90}@n: other_group", f"{'m' * 79}…: it belongs to another group"),
    ],
)
def test_a_fault_is_said_in_words_or_by_its_code(code: str, said: str) -> None:
    assert say_fault(code, EN) == said


def test_an_action_without_words_is_shown_by_its_own_name() -> None:
    assert CATALOG.label("web.fetch", EN) == "fetch a web page"
    assert CATALOG.label("new\u202eaction", EN) == "new\\u{202e}action"


@pytest.mark.parametrize(
    ("node", "has_line"),
    [(NodeState.alive, True), (NodeState.observed, False), (NodeState.written_off, True)],
)
def test_a_node_that_is_only_watched_needs_no_line(node: NodeState, has_line: bool) -> None:
    assert bool(sandboxes.say_node("n1", node, EN)) is has_line


def test_a_digest_is_shown_by_its_first_twelve_digits() -> None:
    assert sandboxes.short_digest("sha256:" + "0123456789abcdef") == "sha256:0123456789ab"


def test_a_progress_line_shows_a_hundred_signs_of_the_last_line() -> None:
    with_line = sandboxes.say_output(7, "y" * 101, EN)
    without = sandboxes.say_output(7, "", EN)

    assert with_line.startswith(without)
    assert "y" * 99 + "…" in with_line
    assert "y" * 100 in sandboxes.say_output(7, "y" * 100, EN)


def test_a_command_on_a_sandbox_is_done_or_failed() -> None:
    done = sandboxes.say_command_ended("lab", "stop", "", EN)
    failed = sandboxes.say_command_ended("lab", "stop", "other_group", EN)

    assert done != failed
    assert "it belongs to another group" in failed


def test_an_end_names_its_reason_and_who_cancelled() -> None:
    def say(reason: str, by: str = "") -> str:
        return notices.say_ended(
            task=TASK, state=TaskState.cancelled, reason=reason, language=EN, cancelled_by=by
        )

    assert "Alice" in say("cancelled_by_member", "Alice")
    assert "Alice" not in say("recalled", "Alice")
    assert say("cancelled_by_member") != say("recalled")
    assert "it belongs to another group" in say("other_group")
    assert "z" * 23 + "…" in say("cancelled_by_member", "z" * 25)
    assert "z" * 24 in say("cancelled_by_member", "z" * 24)


def test_a_completed_task_whose_approval_died_is_not_called_completed() -> None:
    plain = notices.say_task_state(TaskState.completed, "answered", EN)

    assert notices.say_task_state(TaskState.completed, None, EN) == plain
    assert notices.say_task_state(TaskState.completed, "approval_denied", EN) != plain
    assert notices.say_task_state(TaskState.failed, "approval_denied", EN) == (
        notices.say_task_state(TaskState.failed, None, EN)
    )


def test_an_answer_says_below_itself_what_was_done_and_what_was_not() -> None:
    nothing = notices.frame_answer(task=TASK, answer="\nhi\n", executed=(), language=EN)
    both = notices.frame_answer(
        task=TASK, answer="hi", executed=("ran a",), language=EN, unmet=("left b",)
    )

    assert len(nothing.split("\n")) == 3
    assert nothing.split("\n")[1] == "hi"
    assert both.split("\n")[1] == "hi"
    assert both.split("\n")[3] == "- ran a"
    assert both.split("\n")[5:] == ["- left b"]


def test_each_fact_about_credentials_has_its_line() -> None:
    def say(replaced: tuple[str, ...], calls: int) -> tuple[str, ...]:
        return notices.say_credentials(replaced=replaced, refused_calls=calls, language=EN)

    assert say((), 0) == ()
    assert "⟦a⟧ ⟦b⟧" in say(("⟦a⟧", "⟦b⟧"), 0)[0]
    assert len(say(("⟦a⟧",), 0)) == len(say((), 1)) == 1
    assert len(say(("⟦a⟧",), 2)) == 2


def test_a_change_of_the_rules_shows_sixty_signs_of_each_version() -> None:
    what = next(iter(notices._RULES))
    said = notices.say_rules_changed(what, "v" * 61, "w" * 60, EN)

    assert "v" * 59 + "…" in said
    assert "w" * 60 in said


def test_every_left_over_is_named_and_counted() -> None:
    said = sandboxes.say_orphans([("a", "other_group"), ("b", "silent")], EN)

    assert "2" in said
    assert "it belongs to another group" in said
