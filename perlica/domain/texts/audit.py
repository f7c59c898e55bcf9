"""What kinds of audit events and verdicts on a ticket are called, wherever people read them.

What is not listed here is shown by its own name.
"""

from collections.abc import Mapping
from typing import Final

from perlica.domain.texts.language import Text

EVENTS: Final[Mapping[str, Text]] = {
    "call.refused": Text(zh="调用被拒绝", en="Call refused"),
    "console.token_added": Text(zh="签发控制台令牌", en="Console token made"),
    "console.token_revoked": Text(zh="撤销控制台令牌", en="Console token revoked"),
    "context.changed": Text(zh="初始上下文换了版本", en="Context changed"),
    "database.damaged": Text(zh="数据库损坏", en="Database damaged"),
    "image.activated": Text(zh="镜像切换完成", en="Image switch done"),
    "image.blocked": Text(zh="镜像切换受阻", en="Image switch blocked"),
    "image.configured": Text(zh="按配置设置镜像", en="Image set by configuration"),
    "image.refused": Text(zh="配置的镜像未生效", en="Configured image not taken over"),
    "image.switching": Text(zh="开始切换镜像", en="Image switch begun"),
    "intake.gap": Text(zh="群消息有缺口", en="Gap in the messages"),
    "intake.id_collision": Text(zh="两条消息同一个编号", en="Two messages with one id"),
    "intake.quarantined": Text(zh="隔离一条消息", en="Message quarantined"),
    "intake.unreadable": Text(zh="收到读不懂的消息", en="Unreadable message"),
    "lifecycle.deletion": Text(zh="自动删除沙箱", en="Automatic deletion"),
    "node.state": Text(zh="节点状态变化", en="State of a node"),
    "operation.announced": Text(zh="已告知群里", en="Group was told"),
    "operation.planned": Text(zh="开始执行操作", en="Operation planned"),
    "operation.resolved": Text(zh="Owner 处理了操作", en="Operation settled"),
    "outbox.sent_outside": Text(zh="别处用本账号发了消息", en="Sent by our account elsewhere"),
    "policy.changed": Text(zh="执行策略换了版本", en="Policy changed"),
    "restored": Text(zh="从备份恢复", en="Restored from a backup"),
    "restored.left_undone": Text(zh="恢复前的消息未执行", en="Left undone after a restore"),
    "retention.early": Text(zh="磁盘不足，提前清理", en="Deleted early: disk full"),
    "sandbox.absence_confirmed": Text(zh="确认沙箱已不在", en="Sandbox is gone for sure"),
    "sandbox.lost": Text(zh="沙箱丢失", en="Sandbox lost"),
    "sandbox.other_image": Text(zh="沙箱的镜像不符", en="Sandbox of another image"),
    "sandbox.stray": Text(zh="节点上有残留沙箱", en="Stray sandbox on a node"),
    "task.ended": Text(zh="任务结束", en="Task ended"),
    "ticket.asked": Text(zh="请求审批", en="Approval asked for"),
    "ticket.decision": Text(zh="审批决定", en="Decision on an approval"),
    "ticket.expired": Text(zh="审批过期", en="Approval expired"),
    "ticket.void": Text(zh="审批作废", en="Approval void"),
}

VERDICTS: Final[Mapping[str, Text]] = {
    "approved": Text(zh="已批准", en="approved"),
    "denied": Text(zh="已拒绝", en="denied"),
    "not_owner": Text(zh="不是 Owner，没有改变", en="not an Owner, nothing changed"),
    "unknown_ticket": Text(zh="没有这张审批", en="no such approval"),
    "wrong_code": Text(zh="短码不对", en="wrong code"),
    "too_many_attempts": Text(zh="短码错误次数过多", en="too many wrong codes"),
    "expired": Text(zh="已过期", en="expired"),
    "already_decided": Text(zh="已经有过结果", en="decided already"),
}
