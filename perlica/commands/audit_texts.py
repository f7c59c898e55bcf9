"""The wording of `.audit`: kinds of events, who did them, and what a detail says.

What has no words here is shown by its own name.
"""

from collections.abc import Mapping
from typing import Final

from perlica.domain.texts import Text

EVENTS: Final[Mapping[str, Text]] = {
    "call.refused": Text(zh="拒绝了一次调用", en="refused a call"),
    "console.token_added": Text(zh="签发了控制台令牌", en="made a console token"),
    "console.token_revoked": Text(zh="撤销了控制台令牌", en="revoked a console token"),
    "image.activated": Text(zh="镜像更换完成", en="finished an image switch"),
    "image.blocked": Text(zh="镜像更换受阻", en="an image switch is blocked"),
    "image.switching": Text(zh="开始更换镜像", en="began an image switch"),
    "intake.gap": Text(zh="群消息有缺口", en="messages were missed"),
    "intake.quarantined": Text(zh="隔离了一条消息", en="quarantined a message"),
    "intake.unreadable": Text(zh="收到读不懂的消息", en="met an unreadable message"),
    "lifecycle.deletion": Text(zh="自动删除沙箱", en="deleted a sandbox by policy"),
    "node.state": Text(zh="节点状态变化", en="a node's state changed"),
    "operation.announced": Text(zh="告知群里执行了操作", en="told the group of an operation"),
    "operation.planned": Text(zh="开始执行操作", en="began an operation"),
    "operation.resolved": Text(zh="了结了结果不明的操作", en="settled an operation"),
    "outbox.sent_outside": Text(zh="有人用本账号发了消息", en="our account was used elsewhere"),
    "restored": Text(zh="从备份恢复", en="restored from a backup"),
    "retention.early": Text(zh="磁盘不足，提前清理", en="deleted early for lack of space"),
    "sandbox.absence_confirmed": Text(zh="确认沙箱已不在", en="a sandbox is gone for sure"),
    "sandbox.lost": Text(zh="沙箱丢失", en="lost a sandbox"),
    "sandbox.other_image": Text(zh="沙箱的镜像和记录不符", en="a sandbox has another image"),
    "sandbox.stray": Text(zh="节点上有残留沙箱", en="found a stray sandbox"),
    "task.ended": Text(zh="任务结束", en="a task ended"),
    "ticket.asked": Text(zh="请求审批", en="asked for an approval"),
    "ticket.decision": Text(zh="审批决定", en="a word on an approval"),
    "ticket.expired": Text(zh="审批过期", en="an approval expired"),
    "ticket.void": Text(zh="审批作废", en="an approval became void"),
}

ASKERS: Final[Mapping[str, Text]] = {
    "member": Text(zh="成员 {id}", en="member {id}"),
    "task": Text(zh="任务 {id}", en="task {id}"),
    "command": Text(zh="命令消息 {id}", en="command message {id}"),
}
"""By what stands before an actor's colon."""
ACTORS: Final[Mapping[str, Text]] = {
    "perlica": Text(zh="Perlica", en="Perlica"),
    "gateway": Text(zh="工具网关", en="the tool gateway"),
    "intake": Text(zh="消息接收", en="intake"),
    "lifecycle": Text(zh="沙箱生命周期", en="the lifecycle"),
    "napcat": Text(zh="NapCat 连接", en="the NapCat link"),
    "operator": Text(zh="操作员", en="the operator"),
    "outbox": Text(zh="消息发送", en="the outbox"),
    "reconciler": Text(zh="对账", en="the reconciler"),
}

DECISIONS: Final[Mapping[bool, Text]] = {
    True: Text(zh="要批准：{verdict}", en="to grant: {verdict}"),
    False: Text(zh="要拒绝：{verdict}", en="to deny: {verdict}"),
}
VERDICTS: Final[Mapping[str, Text]] = {
    "approved": Text(zh="已批准", en="granted"),
    "denied": Text(zh="已拒绝", en="denied"),
    "not_owner": Text(zh="不是 Owner，没有改变", en="not an Owner, nothing changed"),
    "unknown_ticket": Text(zh="没有这张审批", en="no such approval"),
    "wrong_code": Text(zh="短码不对", en="wrong code"),
    "too_many_attempts": Text(zh="短码错误次数过多", en="too many wrong codes"),
    "expired": Text(zh="已过期", en="expired"),
    "already_decided": Text(zh="已经有过结果", en="decided before"),
}
SANDBOX: Final = Text(zh="沙箱 {name}", en="sandbox {name}")
NODE: Final = Text(zh="节点 {name}", en="node {name}")
BECAUSE: Final = Text(zh="原因 {reason}", en="because of {reason}")
CHANGE: Final = Text(zh="{before} → {after}", en="{before} → {after}")
FACTS: Final = Text(zh="（{facts}）", en=" ({facts})")
