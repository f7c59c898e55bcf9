"""Words of the audit trail and of plans' targets: keys of details and their values.

What a row holds that is not listed here is shown by its own name.
"""

from collections.abc import Mapping

from perlica.domain.texts import Text
from perlica.domain.texts.audit import VERDICTS

KEYS: Mapping[str, Text] = {
    "action": Text(zh="动作", en="action"),
    "after": Text(zh="之后", en="after"),
    "after_seq": Text(zh="从序号", en="after number"),
    "approve": Text(zh="要求", en="asked for"),
    "before": Text(zh="之前", en="before"),
    "before_seq": Text(zh="到序号", en="before number"),
    "booked": Text(zh="登记的镜像", en="image on record"),
    "call": Text(zh="调用", en="call"),
    "code": Text(zh="原因代码", en="code"),
    "epoch": Text(zh="纪元", en="epoch"),
    "expires_at_ms": Text(zh="到期（毫秒）", en="expires at (ms)"),
    "fault": Text(zh="问题", en="fault"),
    "found": Text(zh="实际的镜像", en="image found"),
    "free_bytes": Text(zh="磁盘剩余（字节）", en="free bytes"),
    "from": Text(zh="原来", en="from"),
    "group": Text(zh="群", en="group"),
    "image_digest": Text(zh="镜像 digest", en="image digest"),
    "image_revision": Text(zh="镜像修订", en="image revision"),
    "instance": Text(zh="实例", en="instance"),
    "looks": Text(zh="查看次数", en="looks"),
    "message_id": Text(zh="消息编号", en="message id"),
    "messages": Text(zh="消息数", en="messages"),
    "name": Text(zh="名称", en="name"),
    "node": Text(zh="节点", en="node"),
    "orphan": Text(zh="残留编号", en="orphan"),
    "plan_hash": Text(zh="计划哈希", en="plan hash"),
    "policy_version": Text(zh="策略版本", en="policy version"),
    "reason": Text(zh="原因", en="reason"),
    "reference": Text(zh="镜像引用", en="image reference"),
    "sandbox": Text(zh="沙箱", en="sandbox"),
    "scope": Text(zh="影响范围", en="scope"),
    "state": Text(zh="状态", en="state"),
    "switch": Text(zh="镜像切换", en="image switch"),
    "to": Text(zh="换成", en="to"),
    "verdict": Text(zh="结论", en="verdict"),
    "viewer": Text(zh="查看者编号", en="viewer"),
}

VALUES: Mapping[str, Mapping[str, Text]] = {
    "approve": {
        "true": Text(zh="批准", en="approval"),
        "false": Text(zh="拒绝", en="denial"),
    },
    "scope": {
        "sandbox": Text(zh="一个沙箱", en="one sandbox"),
        "service": Text(zh="本服务", en="this service"),
    },
    "verdict": VERDICTS,
}
