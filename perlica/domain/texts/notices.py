"""What the service tells the group by itself: busy, refused, ended, expired, unknown.

Said by the actors; every function returns plain text that still has to pass `protect`.
"""

from collections.abc import Mapping, Sequence

from perlica.domain.ids import OperationId, TaskId, TicketId
from perlica.domain.operation import OperationState
from perlica.domain.task import UNMET, EndReason, TaskState
from perlica.domain.texts.escape import clip_line, sanitise_lines
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.language import Language, Text, say_duration
from perlica.domain.texts.models import TROUBLES

NAME_CODE_POINTS = 24
"""How much of a member's display name is shown."""

STATES: Mapping[TaskState, Text] = {
    TaskState.received: Text(zh="刚收到", en="just received"),
    TaskState.contextualizing: Text(zh="正在整理上下文", en="gathering context"),
    TaskState.running: Text(zh="正在执行", en="working"),
    TaskState.waiting_approval: Text(zh="等待 Owner 审批", en="waiting for an Owner's approval"),
    TaskState.completing: Text(zh="正在收尾", en="finishing"),
    TaskState.completed: Text(zh="已完成", en="completed"),
    TaskState.failed: Text(zh="未完成", en="failed"),
    TaskState.cancelled: Text(zh="已取消", en="cancelled"),
}

REASONS: Mapping[EndReason, Text] = {
    EndReason.answered: Text(zh="已回答", en="answered"),
    EndReason.approval_denied: Text(
        zh="审批被拒绝，要审批的操作没有执行", en="the approval was denied, its action was not done"
    ),
    EndReason.approval_expired: Text(
        zh="审批过期，要审批的操作没有执行", en="the approval expired, its action was not done"
    ),
    EndReason.approval_void: Text(
        zh="审批作废，要审批的操作没有执行", en="the approval became void, its action was not done"
    ),
    EndReason.cancelled_by_member: Text(zh="有成员取消了它", en="a member cancelled it"),
    EndReason.recalled: Text(zh="发起的消息被撤回", en="its message was recalled"),
    EndReason.wall_time: Text(zh="超过了总时长上限", en="it took longer than a task may"),
    EndReason.model_calls: Text(
        zh="模型调用次数到了上限", en="it reached the limit of model calls"
    ),
    EndReason.tool_calls: Text(zh="工具调用次数到了上限", en="it reached the limit of tool calls"),
    EndReason.tokens: Text(zh="用量（token）到了上限", en="it reached the limit of tokens"),
    EndReason.repeated_calls: Text(
        zh="模型反复做同一个调用", en="the model kept repeating the same call"
    ),
    **{reason: trouble.what for reason, trouble in TROUBLES.items()},
    EndReason.empty_answer: Text(zh="模型没有给出回答", en="the model gave no answer"),
    EndReason.protection_failed: Text(
        zh="内容安全检查没能完成", en="content protection could not finish"
    ),
    EndReason.protection_altered: Text(
        zh="模型的思考里有像凭据的内容，不能保存，也不能改动后送回",
        en="the model's signed thinking held what looks like a credential:"
        " it may neither be kept nor be changed",
    ),
    EndReason.outcome_unknown: Text(
        zh="有一个操作的结果不明", en="the outcome of an operation is not known"
    ),
    EndReason.crashed_repeatedly: Text(
        zh="处理它时服务多次中断", en="the service broke down several times while doing it"
    ),
    EndReason.approval_undeliverable: Text(
        zh="审批消息发不出去", en="the approval message could not be delivered"
    ),
    EndReason.internal_fault: Text(
        zh="服务内部出错，细节在日志里", en="an internal fault; the log has the details"
    ),
    EndReason.too_large: Text(zh="内容超过了上限", en="it was larger than allowed"),
    EndReason.restored: Text(zh="数据库从备份恢复了", en="the database was restored from a backup"),
}

_UNMET_STATE = Text(zh="已答复，没有执行", en="answered, not done")
_CANCELLED_BY = Text(zh="{name} 取消了它", en="{name} cancelled it")

OPERATION_STATES: Mapping[OperationState, Text] = {
    OperationState.queued: Text(zh="没有开始", en="not begun"),
    OperationState.started: Text(zh="还在进行", en="still going on"),
    OperationState.succeeded: Text(zh="成功", en="done"),
    OperationState.failed: Text(zh="失败", en="failed"),
    OperationState.cancelled: Text(zh="已取消", en="cancelled"),
    OperationState.abandoned: Text(zh="没有执行", en="not executed"),
    OperationState.unknown: Text(
        zh="结果不明，等 Owner 处理", en="outcome unknown, an Owner must look"
    ),
    OperationState.resolved: Text(
        zh="结果曾不明，Owner 已处理", en="was unknown, closed by an Owner"
    ),
}

BUSY = Text(
    zh="正忙：任务 {task}（{requester} 发起，已进行 {elapsed}，{phase}）。"
    "这条没有受理，请等它结束再 @我；.status 查看，.cancel 取消。",
    en="Busy: task {task} (asked by {requester}, running for {elapsed}, {phase}). "
    "This request was not taken; @ me again when it is over. .status shows it, .cancel ends it.",
)
UNSCANNABLE = Text(
    zh="这条消息没能通过内容安全检查，内容没有保存，也不会处理。请缩短或换个写法再发。",
    en="This message could not be checked for secrets; nothing of it was kept or done. "
    "Please send it shorter or worded differently.",
)
EMPTY_REQUEST = Text(
    zh="请在 @ 后面写上要做的事。发 .help 看用法。",
    en="Please write what to do after the @. Send .help to see how.",
)
_TOO_LARGE = Text(
    zh="这条消息有 {length} 个字符，上限是 {limit} 个，没有受理。请缩短，或分步来说。",
    en="This message has {length} characters, the limit is {limit}; it was not taken. "
    "Please shorten it or ask step by step.",
)
_QUARANTINED = Text(
    zh="有 {count} 条消息多次让服务中断，已经隔离，不再处理。",
    en="{count} message(s) broke the service several times and are quarantined now.",
)
_MISSED = Text(
    zh="离线期间有 {count} 条 @我 的消息没有处理。还需要的话，请重新发送。",
    en="{count} message(s) to me came while I was offline and were not handled. "
    "Please send them again if they still matter.",
)
_RESTORED_END = Text(
    zh="任务 {task} 没有完成：数据库从备份恢复了，当时等待的审批已作废。还需要的话，请重新 @我。",
    en="Task {task} was not finished: the database was restored from a backup, and approvals that"
    " were waiting then are void. If it is still wanted, please ask again.",
)
_LEFT_UNDONE = Text(
    zh="数据库是从备份恢复的。恢复之前发出的 {commands} 条命令和 {requests} 条 @我 的请求没有执行。"
    "请 Owner 看一下，还需要的请重新发送。",
    en="The database was restored from a backup. {commands} command(s) and {requests} request(s) "
    "sent before that were not carried out. Owners: please look, and repeat what still matters.",
)
_DATABASE_DAMAGED = Text(
    zh="数据库检查发现损坏（{code}）。请 Owner 尽快停下服务，运行 perlica doctor 看处理办法，"
    "必要时从备份恢复。",
    en="The check of the database found damage ({code}). An Owner should stop the service soon, "
    "see what `perlica doctor` advises, and restore a backup if need be.",
)
_RULES_CHANGED = Text(
    zh="{what}从版本 {before} 换成了 {after}（启动时由配置更换，已记入审计）。",
    en="{what} changed from version {before} to {after} (by configuration at the start; audited).",
)
_RULES = {
    "policy": Text(zh="执行策略", en="The policy"),
    "context": Text(zh="初始上下文", en="The initial context"),
}
_RESUMED = Text(
    zh="服务刚刚重启，任务 {task} 接着进行。",
    en="The service has just restarted; task {task} goes on.",
)
_PROGRESS = Text(
    zh="任务 {task} 仍在进行：{phase}，第 {step} 步，已用 {elapsed}。",
    en="Task {task} goes on: {phase}, step {step}, {elapsed} so far.",
)
_ENDED = Text(zh="任务 {task} {state}：{reason}。", en="Task {task} {state}: {reason}.")
_ANSWER_HEADER = Text(zh="【Perlica 回答 · {task}】", en="【Perlica's answer · {task}】")
_EXECUTED = Text(zh="【实际执行】", en="【Really executed】")
_NOT_EXECUTED = Text(zh="【没有执行】", en="【Not executed】")
_NOTHING_EXECUTED = Text(zh="【实际执行】无", en="【Really executed】 nothing")
_REPLACED = Text(
    zh="【凭据】你消息里的凭据换成了 {names}，真值没有保存，也没有交给模型。"
    "请撤回那条消息并更换它。",
    en="【Credential】 The credential in your message became {names}; the value was neither kept"
    " nor given to the model. Please recall the message and change the credential.",
)
_NOT_WRITTEN = Text(
    zh="【凭据】{count} 个带占位符的调用没有执行：占位符不是真值，不能写进文件或命令。",
    en="【Credential】 {count} call(s) with a placeholder were not executed: it is not the value"
    " and must not be written into a file or a command.",
)
_ANNOUNCED = Text(
    zh="已按策略自动执行（中风险）：{summary}", en="Done by policy (medium risk): {summary}"
)
_TICKET_EXPIRED = Text(
    zh="审批 {ticket} 已过期，没有执行（{action}）。还需要的话，请重新 @我 提出。",
    en="Approval {ticket} has expired, nothing was done ({action}). "
    "Please @ me again if it is still wanted.",
)
_TICKET_VOID = Text(
    zh="审批 {ticket} 已作废，没有执行（{action}）。",
    en="Approval {ticket} is void, nothing was done ({action}).",
)
_PLAN_CHANGED = Text(
    zh="审批 {ticket} 批准后情况变了，没有执行（{action}）。需要重新审批。",
    en="Things changed after approval {ticket}; nothing was done ({action}). "
    "It needs a new approval.",
)
_OUTCOME_UNKNOWN = Text(
    zh="操作 {operation}（{action}）的结果不明，不会重复执行。请 Owner 用 .recovery 查看并处理。",
    en="The outcome of operation {operation} ({action}) is not known; it will not be repeated. "
    "An Owner can look at it with .recovery.",
)
_LATE_ENDING = Text(
    zh="任务结束时还在进行的操作 {operation}（{action}）现在有了结果：{state}。",
    en="Operation {operation} ({action}) went on when its task ended; now its outcome is: {state}.",
)
_TOO_MANY_PARTS = Text(
    zh="（太长，只发出前 {count} 条；请让我写得短一些，或存成文件）",
    en="(too long: only the first {count} parts were sent; ask for a shorter text or a file)",
)


def say_busy(
    *, task: TaskId, requester: str, elapsed_ms: int, state: TaskState, language: Language
) -> str:
    """The answer to a mention while a task is alive: who, for how long, in which phase."""
    return BUSY.say(
        language,
        task=task,
        requester=clip_line(requester, NAME_CODE_POINTS),
        elapsed=say_duration(elapsed_ms, language),
        phase=STATES[state].say(language),
    )


def say_too_large(*, length: int, limit: int, language: Language) -> str:
    """The answer to a trigger that alone exceeds the window (code points)."""
    return _TOO_LARGE.say(language, length=length, limit=limit)


def say_quarantined(count: int, language: Language) -> str:
    """Announces messages that were in hand at three crashes."""
    return _QUARANTINED.say(language, count=count)


def say_missed(count: int, language: Language) -> str:
    """Announces mentions that came while the service was offline."""
    return _MISSED.say(language, count=count)


def say_restored_end(task: TaskId, language: Language) -> str:
    """Tells a member that a task ended because the database was restored."""
    return _RESTORED_END.say(language, task=task)


def say_left_undone(*, commands: int, requests: int, language: Language) -> str:
    """Announces what was sent before a restore and therefore not done."""
    return _LEFT_UNDONE.say(language, commands=commands, requests=requests)


def say_database_damaged(code: str, language: Language) -> str:
    """Announces what the daily check of the database found; `code` is ours."""
    return _DATABASE_DAMAGED.say(language, code=code)


def say_rules_changed(what: str, before: str, after: str, language: Language) -> str:
    """Announces that the policy or the context is another one since this start."""
    return _RULES_CHANGED.say(
        language,
        what=_RULES[what].say(language),
        before=clip_line(before, 60),
        after=clip_line(after, 60),
    )


def say_resumed(task: TaskId, language: Language) -> str:
    """Announces that a task goes on after a restart."""
    return _RESUMED.say(language, task=task)


def say_progress(
    *, task: TaskId, state: TaskState, step: int, elapsed_ms: int, language: Language
) -> str:
    """One line about a task that takes long."""
    return _PROGRESS.say(
        language,
        task=task,
        phase=STATES[state].say(language),
        step=step,
        elapsed=say_duration(elapsed_ms, language),
    )


def say_ended(
    *, task: TaskId, state: TaskState, reason: str, language: Language, cancelled_by: str = ""
) -> str:
    """How a task ended; `reason` is an EndReason's word or, from an older version, any other.

    `cancelled_by` is the name or number of the member who cancelled it, where that is known.
    """
    known = REASONS.get(EndReason(reason)) if reason in set(EndReason) else None
    said = known.say(language) if known else say_fault(reason, language)
    if reason == EndReason.cancelled_by_member and cancelled_by:
        said = _CANCELLED_BY.say(language, name=clip_line(cancelled_by, NAME_CODE_POINTS))
    return _ENDED.say(language, task=task, state=STATES[state].say(language), reason=said)


def say_task_state(state: TaskState, reason: str | None, language: Language) -> str:
    """How a task stands; one whose approval died is not called completed."""
    if state is TaskState.completed and reason in UNMET:
        return _UNMET_STATE.say(language)
    return STATES[state].say(language)


def frame_answer(
    *,
    task: TaskId,
    answer: str,
    executed: Sequence[str],
    language: Language,
    unmet: Sequence[str] = (),
) -> str:
    """A model's answer under the fixed header, and below it what was really executed.

    `answer` is the model's (sanitised here), `executed` are Perlica's own lines, one for each
    operation, made from its rows; `unmet` those of approvals that died.
    """
    parts = [_ANSWER_HEADER.say(language, task=task), sanitise_lines(answer.strip("\n"))]
    if executed:
        parts += [_EXECUTED.say(language), *(f"- {line}" for line in executed)]
    else:
        parts.append(_NOTHING_EXECUTED.say(language))
    if unmet:
        parts += [_NOT_EXECUTED.say(language), *(f"- {line}" for line in unmet)]
    return "\n".join(parts)


def say_credentials(
    *, replaced: Sequence[str], refused_calls: int, language: Language
) -> tuple[str, ...]:
    """What became of credentials in a task, and what its member has to do: a line for each fact.

    `replaced` are the placeholders in his own message, `refused_calls` the calls that held one.
    """
    names = " ".join(replaced)
    return (
        *([_REPLACED.say(language, names=names)] if replaced else []),
        *([_NOT_WRITTEN.say(language, count=refused_calls)] if refused_calls else []),
    )


def say_announced(summary: str, language: Language) -> str:
    """Tells the group of Medium actions that ran by themselves; `summary` is ours."""
    return _ANNOUNCED.say(language, summary=summary)


def say_ticket_expired(ticket: TicketId, action: str, language: Language) -> str:
    """A ticket ran out; `action` is the label of the plan's, as in all of these."""
    return _TICKET_EXPIRED.say(language, ticket=ticket, action=action)


def say_ticket_void(ticket: TicketId, action: str, language: Language) -> str:
    """A ticket died with its task."""
    return _TICKET_VOID.say(language, ticket=ticket, action=action)


def say_plan_changed(ticket: TicketId, action: str, language: Language) -> str:
    """The plan, rebuilt before execution, no longer hashes to what was approved."""
    return _PLAN_CHANGED.say(language, ticket=ticket, action=action)


def say_outcome_unknown(operation: OperationId, action: str, language: Language) -> str:
    """An operation went to the recovery queue."""
    return _OUTCOME_UNKNOWN.say(language, operation=operation, action=action)


def say_late_ending(
    operation: OperationId,
    action: str,
    state: OperationState,
    language: Language,
    *,
    ending: str = "",
) -> str:
    """An operation ended after its task did; `ending` says more than its state, if it can."""
    return _LATE_ENDING.say(
        language,
        operation=operation,
        action=action,
        state=ending or OPERATION_STATES[state].say(language),
    )


def say_too_many_parts(count: int, language: Language) -> str:
    """Ends a reply that was longer than what may be sent in one go."""
    return _TOO_MANY_PARTS.say(language, count=count)
