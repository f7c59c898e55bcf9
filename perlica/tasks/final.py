"""The final message: the model's answer made harmless, under a fixed header, above what was really
done.

Pure. What was done comes from the operations' rows, never from the model's words: models were seen
to claim work that never happened. The loop protects the result and
queues it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.domain.ids import TaskId
from perlica.domain.operation import OperationState
from perlica.domain.texts import Language, Text, clip_line, escape_visible, say_duration
from perlica.domain.texts.endings import say_ending
from perlica.domain.texts.notices import OPERATION_STATES, frame_answer
from perlica.protection import SMALLEST_PART
from perlica.protection.placeholder import ANY as PLACEHOLDER
from perlica.stores.operations import Operation
from perlica.tasks.sanitising import sanitise, sanitise_literally

__all__ = ["Usage", "executed_lines", "final_message", "sanitise", "usage_line"]

MAX_ANSWER_CODE_POINTS: Final = 5_000
MAX_LINES: Final = 12
_NAME_CODE_POINTS: Final = 40
_DETAIL_CODE_POINTS: Final = 60

_LINE: Final = Text(zh="{action}{target}{detail}：{state}", en="{action}{target}{detail}: {state}")
_TARGET: Final = Text(zh="（{name}）", en=" ({name})")
_TIMES: Final = Text(zh="{line} ×{count}", en="{line} ×{count}")
_MORE: Final = Text(zh="另有 {count} 个较早的操作", en="{count} earlier operation(s) more")
_CUT: Final = Text(
    zh="…（回答太长，后面略去；全文在控制台的任务页，也可以让我分段再发）",
    en="… (too long, the rest is cut; the console's page of the task has it, or ask for parts)",
)
_CUT_TO_CONSOLE: Final = Text(
    zh="…（回答太长，后面略去；全文在控制台：{url} ）",
    en="… (too long, the rest is cut; the console has all of it: {url} )",
)
_BEING_STOPPED: Final = Text(zh="正在中止", en="being stopped")
_USAGE: Final = Text(
    zh="用量：模型 {models} 次，工具 {tools} 次，token {tokens}{estimate}，用时 {elapsed}",
    en="Usage: {models} model and {tools} tool calls, {tokens} tokens{estimate}, {elapsed}",
)
_ESTIMATE: Final = Text(zh="（估计）", en=" (estimated)")
_NEVER_BEGUN: Final = frozenset({OperationState.queued, OperationState.abandoned})


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a task used, for the last line of its final message."""

    model_calls: int
    tool_calls: int
    tokens: int
    elapsed_ms: int
    is_estimate: bool = False


def final_message(
    *,
    task: TaskId,
    answer: str,
    operations: Sequence[Operation],
    language: Language,
    actions: ActionCatalog,
    usage: Usage | None = None,
    page_url: str = "",
    credentials: Sequence[str] = (),
    unmet: Sequence[str] = (),
) -> str:
    """The whole final message; it still has to pass `protect` on its way to the outbox.

    `answer` is the model's text as the transcript keeps it, `operations` are all of the task's,
    `unmet` are lines about approvals that it did not get.
    One that is too long for the group names the task's page in the console, if there is one.
    `credentials` are Perlica's own lines about what was replaced.
    """
    text = sanitise(answer[: _safe_end(answer, 4 * MAX_ANSWER_CODE_POINTS)])
    if len(text) > MAX_ANSWER_CODE_POINTS:
        kept = text[: _safe_end(text, MAX_ANSWER_CODE_POINTS)]
        cut = _CUT_TO_CONSOLE.say(language, url=page_url) if page_url else _CUT.say(language)
        text = f"{kept}\n{cut}"
    executed = executed_lines(operations, language=language, actions=actions)
    framed = frame_answer(task=task, answer=text, executed=executed, language=language, unmet=unmet)
    framed = "\n".join((framed, *credentials))
    return framed if usage is None else f"{framed}\n{usage_line(usage, language)}"


def executed_lines(
    operations: Sequence[Operation],
    *,
    language: Language,
    actions: ActionCatalog,
    is_over: bool = False,
) -> tuple[str, ...]:
    """One line for each operation that began, in their order; equal ones in a row are counted.

    Only rows speak here: action, target and command of the stored plan, escaped and clipped, and
    the state. The newest `MAX_LINES` are shown; how many there were before is said first. A
    command that still runs when its task `is_over` is being stopped; a deletion goes on.
    """
    began = [
        operation
        for operation in operations
        if operation.state not in _NEVER_BEGUN and not _has_no_effect(operation, actions)
    ]
    lines: list[tuple[str, int]] = []
    said = (_say_operation(each, language, actions, is_over=is_over) for each in began)
    for line in said:
        if lines and lines[-1][0] == line:
            lines[-1] = (line, lines[-1][1] + 1)
        else:
            lines.append((line, 1))
    shown = [
        line if count == 1 else _TIMES.say(language, line=line, count=count)
        for line, count in lines[-MAX_LINES:]
    ]
    hidden = sum(count for _, count in lines[:-MAX_LINES])
    return (*([_MORE.say(language, count=hidden)] if hidden else []), *shown)


def usage_line(usage: Usage, language: Language) -> str:
    """What the task used, on one line."""
    return _USAGE.say(
        language,
        models=usage.model_calls,
        tools=usage.tool_calls,
        tokens=usage.tokens,
        estimate=_ESTIMATE.say(language) if usage.is_estimate else "",
        elapsed=say_duration(usage.elapsed_ms, language),
    )


def _has_no_effect(operation: Operation, actions: ActionCatalog) -> bool:
    spec = actions.find(operation.action)
    return spec is not None and spec.has_no_effect


def _say_operation(
    operation: Operation, language: Language, actions: ActionCatalog, *, is_over: bool
) -> str:
    plan = _read(operation.plan.content)
    target = _read_map(plan.get("target"))
    name = next((target[key] for key in ("sandbox", "name", "id") if target.get(key)), "")
    detail = _say_detail(_read_map(plan.get("effect")))
    spec = actions.find(operation.action)
    is_open = is_over and operation.state is OperationState.started
    is_stopping = is_open and spec is not None and spec.ends_with_task
    return _LINE.say(
        language,
        action=actions.label(operation.action, language),
        target=_TARGET.say(language, name=clip_line(str(name), _NAME_CODE_POINTS)) if name else "",
        detail=f" {detail}" if detail else "",
        state=_BEING_STOPPED.say(language) if is_stopping else _say_state(operation, language),
    )


def _say_detail(effect: Mapping[str, object]) -> str:
    """What was run or touched, on one line."""
    argv = effect.get("argv")
    if isinstance(argv, list):
        return _quiet(" ".join(str(word) for word in argv))
    path = effect.get("path")
    return _quiet(path) if isinstance(path, str) else ""


def _quiet(text: str) -> str:
    """A piece of a stored plan on one line: escaped and clipped around its placeholders.

    Placeholders stay whole, so that nothing takes them for a credential again. They count only
    where the stored, protected text had them before sanitising: all else is escaped as it comes.
    """
    raw = text[: _safe_end(text, 4 * _DETAIL_CODE_POINTS)]
    plain = sanitise_literally(raw)
    placeholders = PLACEHOLDER.findall(plain)
    if not placeholders or placeholders != PLACEHOLDER.findall(raw):
        return clip_line(plain, _DETAIL_CODE_POINTS)
    # Signs around each piece: blanks beside a placeholder stand inside the line, not at an end.
    pieces = [escape_visible(f"|{piece}|")[1:-1] for piece in PLACEHOLDER.split(plain)]
    shown = "".join(map("".join, zip(pieces, [*placeholders, ""], strict=True)))
    if len(shown) <= _DETAIL_CODE_POINTS:
        return shown
    return shown[: _safe_end(shown, _DETAIL_CODE_POINTS - 1)] + "…"


def _say_state(operation: Operation, language: Language) -> str:
    ending = say_ending(operation.state, _read(operation.outcome.content), language)
    return ending or OPERATION_STATES[operation.state].say(language)


def _safe_end(text: str, at: int) -> int:
    """`at`, or the beginning of the placeholder that a cut there would divide."""
    if at >= len(text):
        return at
    opening = text.rfind("⟦", max(0, at - SMALLEST_PART), at)
    return opening if opening >= 0 and "⟧" not in text[opening:at] else at


def _read(content: str) -> dict[str, object]:
    try:
        return _read_map(json.loads(content or "{}"))
    except ValueError:
        return {}


def _read_map(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
