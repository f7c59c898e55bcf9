"""The wording of `.audit`: who did something, and what a detail says.

Kinds and verdicts: `perlica.domain.texts.audit`. What has no words is shown by its own name.
"""

from collections.abc import Mapping
from typing import Final

from perlica.domain.texts import Text

CALLERS: Final[Mapping[str, Text]] = {
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
SANDBOX: Final = Text(zh="沙箱 {name}", en="sandbox {name}")
NODE: Final = Text(zh="节点 {name}", en="node {name}")
BECAUSE: Final = Text(zh="原因 {reason}", en="because of {reason}")
CHANGE: Final = Text(zh="{before} → {after}", en="{before} → {after}")
FACTS: Final = Text(zh="（{facts}）", en=" ({facts})")
