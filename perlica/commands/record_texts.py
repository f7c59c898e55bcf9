"""The wording of answers about tasks, the audit and oneself, in both languages."""

from collections.abc import Mapping

from perlica.commands.roles import Role
from perlica.domain.approval import TicketState
from perlica.domain.texts import Text

TASKS_HEAD = Text(zh="【最近的任务】", en="【Recent tasks】")
TASKS_NONE = Text(zh="还没有任务。", en="There was no task yet.")
TASKS_ITEM = Text(
    zh="{task}：{state}，{requester} 发起，{age}前",
    en="{task}: {state}, by {requester}, {age} ago",
)
TASK_UNKNOWN = Text(
    zh="没有任务 {task}。发 .tasks 查看最近的任务。",
    en="There is no task {task}. Send .tasks for the recent ones.",
)
TASK_HEAD = Text(zh="【任务 {task}】{state}", en="【Task {task}】{state}")
TASK_REASON = Text(zh="原因：{reason}", en="Reason: {reason}")
TASK_WHO = Text(zh="{requester} 发起，{age}前", en="Asked by {requester}, {age} ago")
TASK_USAGE = Text(
    zh="第 {step} 步；模型 {models} 次，工具 {tools} 次，token {tokens}",
    en="Step {step}; {models} model and {tools} tool calls, {tokens} tokens",
)
TASK_TICKET = Text(zh="审批 {ticket}：{action}，{state}", en="Approval {ticket}: {action}, {state}")
TASK_DONE = Text(zh="执行过：", en="Executed:")
TASK_NOTHING_DONE = Text(zh="没有执行任何操作", en="Nothing was executed")

AUDIT_HEAD = Text(zh="【审计】最近的在前", en="【Audit】newest first")
AUDIT_NONE = Text(zh="没有审计记录。", en="There is nothing in the audit.")
AUDIT_ITEM = Text(
    zh="{time} {kind}{facts}，{actor}{about}", en="{time} {kind}{facts}, {actor}{about}"
)

WHOAMI = Text(
    zh="你的 QQ 号是 {user}，角色：{role}。", en="Your QQ number is {user}, role: {role}."
)
ROLES: Mapping[Role, Text] = {
    Role.owner: Text(
        zh="Owner（能发起任务，也能审批）", en="Owner (may ask for tasks and decide approvals)"
    ),
    Role.member: Text(zh="成员（能发起任务）", en="member (may ask for tasks)"),
}

TICKET_STATES: Mapping[TicketState, Text] = {
    TicketState.pending: Text(zh="等待决定", en="waiting"),
    TicketState.approved: Text(zh="已批准", en="granted"),
    TicketState.consumed: Text(zh="已批准并执行", en="granted and used"),
    TicketState.denied: Text(zh="已拒绝", en="denied"),
    TicketState.expired: Text(zh="已过期", en="expired"),
    TicketState.void: Text(zh="已作废", en="void"),
}
