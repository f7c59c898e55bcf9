"""The wording of answers to `.sbx`, `.image`, `.orphans` and `.node`, in both languages.

Read on a phone: one thing on a line, no columns that would need equal widths.
"""

from collections.abc import Mapping

from perlica.domain.texts import Text

SANDBOXES_HEAD = Text(zh="【沙箱 {count}/{most}】", en="【Sandboxes {count}/{most}】")
SANDBOX_LINE = Text(
    zh="{name}：{state}，节点 {node}，{left}后删除；{purpose}",
    en="{name}: {state}, node {node}, deleted in {left}; {purpose}",
)
SANDBOX_LINE_ENDING = Text(
    zh="{name}：{state}，节点 {node}（{reason}）；{purpose}",
    en="{name}: {state}, node {node} ({reason}); {purpose}",
)
NO_PURPOSE = Text(zh="没有描述", en="no description")
NO_REASON = Text(zh="无说明", en="no reason given")
NO_SANDBOXES = Text(zh="没有沙箱。", en="There is no sandbox.")
NO_SUCH_SANDBOX = Text(
    zh="没有沙箱 {name}。发 .sbx 查看。", en="There is no sandbox {name}. Send .sbx to see them."
)
SANDBOX_SHOWN = Text(
    zh="【沙箱 {name}】{state}\n用途：{purpose}\n节点：{node}\n镜像修订：{revision}（{digest}）\n"
    "上次使用：{used}前\n无人使用则 {left}后删除\n资源：内存 {memory} MiB，{disk}，"
    "CPU {cpu} 毫核，进程 {pids}\n网络：{network}",
    en="【Sandbox {name}】{state}\nPurpose: {purpose}\nNode: {node}\n"
    "Image revision: {revision} ({digest})\nLast used: {used} ago\n"
    "Deleted in {left} unless used\nLimits: {memory} MiB memory, {disk}, "
    "{cpu} millicores, {pids} processes\nNetwork: {network}",
)
DISK_LIMIT = Text(zh="磁盘 {limit} MiB", en="{limit} MiB disk")
DISK_USED = Text(
    zh="磁盘已用 {used} / {limit} MiB（{share}%，{age}前）",
    en="{used} of {limit} MiB disk used ({share}%, {age} ago)",
)
NETWORKS: Mapping[str, Text] = {
    "none": Text(zh="无", en="none"),
    "egress": Text(zh="只能访问白名单", en="allow-list only"),
}
OPERATIONS_HEAD = Text(zh="【沙箱 {name} 最近的操作】", en="【Latest operations in {name}】")
OPERATION_LINE = Text(
    zh="{age}前{kind}：{state}（{operation}）", en="{age} ago {kind}: {state} ({operation})"
)
NO_OPERATIONS = Text(zh="还没有操作。", en="Nothing was done in it yet.")
KINDS: Mapping[str, Text] = {
    "create": Text(zh="创建", en="create"),
    "exec": Text(zh="命令", en="command"),
    "read": Text(zh="读文件", en="read"),
    "write": Text(zh="写文件", en="write"),
    "list": Text(zh="列目录", en="list"),
    "stop": Text(zh="停止", en="stop"),
    "delete": Text(zh="删除", en="delete"),
}
STATES: Mapping[str, Text] = {
    "queued": Text(zh="排队", en="queued"),
    "started": Text(zh="进行中", en="under way"),
    "succeeded": Text(zh="成功", en="done"),
    "failed": Text(zh="失败", en="failed"),
    "cancelled": Text(zh="已取消", en="cancelled"),
    "abandoned": Text(zh="没有执行", en="not executed"),
    "unknown": Text(zh="结果不明", en="outcome unknown"),
    "resolved": Text(zh="结果曾不明，已了结", en="was unknown, settled"),
}
STOPPING = Text(
    zh="正在停止 {name}，停好后会告诉大家；文件保留。",
    en="Stopping {name}; it will be said here when it is done. Files stay.",
)
DESCRIBED = Text(zh="{name} 的用途已更新。", en="The purpose of {name} is changed.")
ASKED = Text(
    zh="这是高风险操作，已发出审批 {ticket}，批准后执行。",
    en="This is risky: approval {ticket} is asked for; it is done once approved.",
)

IMAGE_SHOWN = Text(
    zh="【沙箱镜像】{reference}\n摘要：{digest}\n修订：{revision}\n介绍：{introduction}",
    en="【Sandbox image】{reference}\nDigest: {digest}\nRevision: {revision}\n"
    "Introduction: {introduction}",
)
IMAGE_NONE = Text(zh="还没有配置沙箱镜像。", en="No sandbox image is configured.")
IMAGE_SWITCHING = Text(
    zh="正在更换为 {digest}：剩 {left} 个沙箱待清理，暂停创建。",
    en="Switching to {digest}: {left} sandbox(es) are still to go, nothing is created.",
)
IMAGE_BLOCKED = Text(
    zh="更换为 {digest} 受阻：{reason}。处理后发 .image retry。",
    en="The switch to {digest} is blocked: {reason}. Send .image retry when it is dealt with.",
)
IMAGE_OTHERS = Text(zh="节点上另有镜像：{images}", en="Nodes hold other images: {images}")
IMAGE_OTHER = Text(zh="{digest}（{reference}）", en="{digest} ({reference})")
INTRODUCED = Text(
    zh="镜像介绍已更新，修订 {revision}；沙箱不受影响。",
    en="The introduction is changed, revision {revision}; sandboxes are not affected.",
)
RETRYING = Text(
    zh="继续更换镜像，所有清理马上重试。", en="The switch goes on; clean-up is tried now."
)

ORPHANS_HEAD = Text(zh="【没清理干净的沙箱】", en="【Not cleaned up】")
ORPHANS_NONE = Text(zh="没有残留。", en="Nothing is left over.")
ORPHAN_LINE = Text(
    zh="{number}. {name}（节点 {node}）：{cause}，试过 {attempts} 次，{next}；{reason}",
    en="{number}. {name} (node {node}): {cause}, tried {attempts} times, {next}; {reason}",
)
CAUSES: Mapping[str, Text] = {
    "delete_failed": Text(zh="删除失败", en="deletion failed"),
    "unconfirmed": Text(zh="结果不明", en="outcome unknown"),
    "node_lost": Text(zh="随节点丢失，名字保留", en="lost with its node, the name is kept"),
    "returned": Text(zh="节点上的残留", en="remnant on its node"),
    "unknown": Text(
        zh="不是本服务建的，不会自动删除", en="not made by this service, not deleted by itself"
    ),
}
NEXT_TRY = Text(zh="{wait}后再试", en="next try in {wait}")
NO_NEXT_TRY = Text(zh="不自动重试", en="not tried by itself")

NODES_HEAD = Text(zh="【节点】", en="【Nodes】")
NODES_NONE = Text(zh="还没有节点的观察结果。", en="No node was looked at yet.")
NODE_LINE = Text(
    zh="{node}：{state}，已 {since}；沙箱 {count} 个；{seen}",
    en="{node}: {state} for {since}; {count} sandbox(es); {seen}",
)
NODE_SEEN = Text(zh="{ago}前应答过", en="answered {ago} ago")
NODE_NEVER_SEEN = Text(zh="从未应答", en="never answered")

NODE_LOOK = Text(
    zh="  最近观察：{finding}，连续 {looks} 次，{ago}前最后一次",
    en="  last looks: {finding}, {looks} time(s) in a row, the last {ago} ago",
)
NODE_ANSWERED = Text(zh="有应答", en="it answered")
NODE_EVIDENCE = Text(zh="  依据：{evidence}", en="  evidence: {evidence}")
NODE_EVIDENCE_WORDS: Mapping[str, Text] = {
    "down_looks": Text(zh="无应答 {value} 次", en="no answer in {value} looks"),
    "down_s": Text(zh="无应答 {value} 秒", en="no answer for {value} s"),
    "silent_looks": Text(zh="其中可信 {value} 次", en="{value} of them good looks"),
    "silent_s": Text(zh="可信静默 {value} 秒", en="silent in good looks for {value} s"),
    "control_looks": Text(
        zh="同时有对照应答 {value} 次", en="a control answered {value} times meanwhile"
    ),
    "absent_looks": Text(zh="确认不存在 {value} 次", en="found absent {value} times"),
    "absent_because": Text(zh="原因 {value}", en="because {value}"),
    "lease_renewed": Text(zh="租约续至 {value}", en="lease renewed {value}"),
    "by": Text(zh="由 {value} 决定", en="decided by {value}"),
}
NODES_NO_CLUSTER = Text(
    zh="没有接入 Kubernetes 查询：以上只依据各节点 sandboxd 的应答。",
    en="No Kubernetes look-up is wired: this rests on the answers of each node's sandboxd alone.",
)

SANDBOXES_OFF = Text(zh="沙箱功能没有启用，没有任何改变。", en="Sandboxes are switched off.")
NOT_DONE = Text(zh="没有执行：{reason}", en="Not done: {reason}")
REFUSALS: Mapping[str, Text] = {
    "no_such_sandbox": Text(zh="没有这个沙箱", en="there is no such sandbox"),
    "bad_sandbox_name": Text(zh="沙箱名不对", en="that is no name of a sandbox"),
    "sandbox_ending": Text(zh="它正在删除", en="it is being deleted"),
    "sandbox_not_usable": Text(zh="它现在不能用", en="it cannot be used now"),
    "sandbox_in_recovery": Text(
        zh="它有结果不明的操作，先用 .recovery 了结",
        en="an operation in it is of unknown outcome; settle it with .recovery first",
    ),
    "image_switching": Text(zh="正在更换镜像", en="the image is being switched"),
    "nothing_blocked": Text(zh="没有受阻的镜像更换", en="no image switch is blocked"),
    "no_image": Text(zh="还没有配置沙箱镜像", en="no sandbox image is configured"),
    "same_image": Text(zh="已经是这个镜像", en="this image is in force already"),
    "bad_digest": Text(zh="镜像摘要至少写 12 位", en="write at least 12 digits of the digest"),
    "ambiguous_digest": Text(
        zh="有几个镜像都这样开头，请多写几位", en="several images begin like this; write more"
    ),
    "no_such_image": Text(
        zh="节点上没有这个镜像，请先导入", en="no node holds this image; import it first"
    ),
    "node_lacks_image": Text(
        zh="有节点还没有这个镜像，请先导入", en="a node lacks this image; import it there first"
    ),
    "sandbox_in_motion": Text(
        zh="有沙箱正在创建，请稍后再试", en="a sandbox is being created; try again in a moment"
    ),
    "bad_introduction": Text(
        zh="介绍是空的，或没能通过检查", en="the introduction is empty or could not be checked"
    ),
    "no_such_node": Text(zh="没有这个节点", en="there is no such node"),
    "node_not_given_up": Text(
        zh="节点有应答，或失联还不够久，不能核销",
        en="the node answers, or was not silent for long enough",
    ),
    "no_such_orphan": Text(zh="没有这个编号，发 .orphans 查看", en="no such number; see .orphans"),
    "orphan_cleans_itself": Text(
        zh="这一项会自动清理", en="this one is cleaned up without being asked"
    ),
    "plan_holds_credential": Text(
        zh="内容里像有密钥", en="something in it looks like a credential"
    ),
    "plan_too_long": Text(zh="内容太长，审批里放不下", en="it is too long for an approval"),
    "blocked_by_policy": Text(zh="策略不允许", en="the policy forbids it"),
}
