"""What an approval calls the known fields of a plan, and the known words inside them.

Wording alone: `approval_text` shows every field, and one that has no name here by its own key. No
two keys of one part have the same name, and a word is only translated in a field that this program
fills in itself.
"""

from collections.abc import Mapping
from typing import Final

from perlica.domain.texts import Text

FIRST: Final = ("sandbox", "node", "orphan", "reference")
"""Keys of a target that people know it by; shown before what is done, the others behind it."""

LABELS: Final[Mapping[str, Mapping[str, Text]]] = {
    "target": {
        "sandbox": Text(zh="沙箱", en="Sandbox"),
        "node": Text(zh="节点", en="Node"),
        "instance": Text(zh="沙箱实例", en="Instance"),
        "image_digest": Text(zh="镜像摘要", en="Image digest"),
        "image_revision": Text(zh="镜像修订", en="Image revision"),
        "reference": Text(zh="镜像", en="Image"),
        "orphan": Text(zh="残留编号", en="Remnant number"),
        "group": Text(zh="群", en="Group"),
    },
    "effect": {
        "files": Text(zh="文件", en="Files"),
        "from_digest": Text(zh="原镜像摘要", en="Image digest before"),
        "from_revision": Text(zh="原镜像修订", en="Image revision before"),
        "introduction": Text(zh="镜像介绍", en="Image introduction"),
        "destroys": Text(zh="将销毁的沙箱", en="Sandboxes destroyed"),
        "loses": Text(zh="将记为丢失的沙箱", en="Sandboxes lost"),
        "verdict": Text(zh="对节点的判断", en="Verdict on the node"),
        "since_ms": Text(zh="从何时起（毫秒时间戳）", en="Since (milliseconds)"),
        "argv": Text(zh="命令", en="Command"),
        "installs": Text(zh="安装工具", en="Installs with"),
        "cwd": Text(zh="工作目录", en="Directory"),
        "stdin": Text(zh="标准输入", en="Standard input"),
        "within_s": Text(zh="时限（秒）", en="Time limit (seconds)"),
        "path": Text(zh="路径", en="Path"),
        "content": Text(zh="内容", en="Content"),
        "mode": Text(zh="文件权限", en="File mode"),
        "purpose": Text(zh="用途", en="Purpose"),
        "image_digest": Text(zh="所用镜像摘要", en="Digest of its image"),
        "image_revision": Text(zh="所用镜像修订", en="Revision of its image"),
        "memory_bytes": Text(zh="内存（字节）", en="Memory (bytes)"),
        "disk_bytes": Text(zh="磁盘（字节）", en="Disk (bytes)"),
        "cpu_millis": Text(zh="CPU（毫核）", en="CPU (millicores)"),
        "pids": Text(zh="进程数上限", en="Processes at most"),
        "network": Text(zh="网络", en="Network"),
        "idle_ms": Text(zh="闲置期限（毫秒）", en="Idle time (milliseconds)"),
    },
}

_EXPECTED: Final[Mapping[str, Text]] = {
    "exec": Text(zh="执行", en="exec"),
    "read": Text(zh="读取", en="read"),
    "write": Text(zh="写入", en="write"),
    "list": Text(zh="列出", en="list"),
    "delete": Text(zh="删除", en="delete"),
    "deleted": Text(zh="已删除", en="deleted"),
    "stop": Text(zh="停止", en="stop"),
    "created": Text(zh="已创建", en="created"),
    "image.switch": Text(zh="更换镜像", en="image.switch"),
    "node.write_off": Text(zh="核销节点", en="node.write_off"),
    "orphan.delete": Text(zh="删除残留", en="orphan.delete"),
}
WORDS: Final[Mapping[str, Mapping[str, Text]]] = {
    "files": {
        "destroyed": Text(zh="将被销毁", en="destroyed"),
        "kept": Text(zh="保留", en="kept"),
    },
    "verdict": {
        "silent": Text(zh="没有动静", en="silent"),
        "unreachable": Text(zh="失联", en="unreachable"),
        "not configured": Text(zh="配置里没有它", en="not configured"),
    },
    "network": {
        "none": Text(zh="无", en="none"),
        "egress": Text(zh="只能访问白名单", en="allow-list only"),
    },
    "scope": {
        "sandbox": Text(zh="一个沙箱", en="sandbox"),
        "node": Text(zh="一个节点", en="node"),
        "service": Text(zh="整个服务", en="service"),
        "group": Text(zh="本群", en="group"),
    },
    "expected": _EXPECTED,
}
KINDS: Final[Mapping[str, Text]] = {
    "node": Text(zh="节点 {name}", en="node:{name}"),
    "nodes": Text(zh="各节点 {name}", en="nodes:{name}"),
    "sandbox": Text(zh="沙箱 {name}", en="sandbox:{name}"),
}
"""What stands before the colon of a destination."""
