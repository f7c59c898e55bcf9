"""The actions of the sandbox family: what they may reach, and every word about them."""

from collections.abc import Mapping
from typing import Final

from perlica.domain.actions import ActionSpec, Scope
from perlica.domain.texts import Text

_NODE: Final = Text(zh="节点", en="Node")
_DIGEST: Final = Text(zh="镜像摘要", en="Image digest")
_REVISION: Final = Text(zh="镜像修订", en="Image revision")
_PATH: Final = Text(zh="路径", en="Path")
_FILES: Final = Text(zh="文件", en="Files")
_INTRODUCTION: Final = Text(zh="镜像介绍", en="Image introduction")
_BOX: Final[Mapping[str, Text]] = {
    "sandbox": Text(zh="沙箱", en="Sandbox"),
    "node": _NODE,
    "instance": Text(zh="沙箱实例", en="Instance"),
    "image_digest": _DIGEST,
    "image_revision": _REVISION,
}
_COMMAND: Final[Mapping[str, Text]] = {
    "argv": Text(zh="命令", en="Command"),
    "cwd": Text(zh="工作目录", en="Directory"),
    "stdin": Text(zh="标准输入", en="Standard input"),
    "within_s": Text(zh="时限（秒）", en="Time limit (seconds)"),
}
_MADE: Final[Mapping[str, Text]] = {
    "image_digest": Text(zh="所用镜像摘要", en="Digest of its image"),
    "image_revision": Text(zh="所用镜像修订", en="Revision of its image"),
    "memory_bytes": Text(zh="内存（字节）", en="Memory (bytes)"),
    "disk_bytes": Text(zh="磁盘（字节）", en="Disk (bytes)"),
    "cpu_millis": Text(zh="CPU（毫核）", en="CPU (millicores)"),
    "pids": Text(zh="进程数上限", en="Processes at most"),
    "network": Text(zh="网络", en="Network"),
    "idle_ms": Text(zh="闲置期限（毫秒）", en="Idle time (milliseconds)"),
}
_NETWORKS: Final[Mapping[str, Text]] = {
    "none": Text(zh="无", en="none"),
    "egress": Text(zh="只能访问白名单", en="allow-list only"),
}
_FATES: Final[Mapping[str, Text]] = {
    "destroyed": Text(zh="将被销毁", en="destroyed"),
    "kept": Text(zh="保留", en="kept"),
}

ACTIONS: Final = (
    ActionSpec(
        name="sandbox.exec",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="在沙箱里执行命令", en="run a command in a sandbox"),
        headline=Text(
            zh="在沙箱 {sandbox} 里执行命令：它可能改动或删除里面的任何文件。",
            en="run a command in sandbox {sandbox}: it may change or delete any of its files.",
        ),
        targets=_BOX,
        effects=_COMMAND,
        expected={"exec": Text(zh="执行", en="exec")},
        ends_with_task=True,
    ),
    ActionSpec(
        name="sandbox.read",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="读取沙箱文件", en="read a file of a sandbox"),
        headline=Text(
            zh="读沙箱 {sandbox} 里的 {path}：{nothing_lost}",
            en="read {path} in sandbox {sandbox}. {nothing_lost}",
        ),
        targets=_BOX,
        effects={
            "path": _PATH,
            "directory": Text(zh="列目录", en="List a directory"),
            "offset_bytes": Text(zh="起始位置（字节）", en="From byte"),
            "first_line": Text(zh="起始行", en="From line"),
            "last_line": Text(zh="结束行", en="To line"),
        },
        expected={"read": Text(zh="读取", en="read"), "list": Text(zh="列出", en="list")},
    ),
    ActionSpec(
        name="sandbox.write",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="写入沙箱文件", en="write a file of a sandbox"),
        headline=Text(
            zh="写沙箱 {sandbox} 的文件 {path}：原来的内容会被替换。",
            en="write {path} in sandbox {sandbox}: what it held is replaced.",
        ),
        targets=_BOX,
        effects={
            "path": _PATH,
            "content": Text(zh="内容", en="Content"),
            "mode": Text(zh="文件权限", en="File mode"),
        },
        expected={"write": Text(zh="写入", en="write")},
    ),
    ActionSpec(
        name="sandbox.list",
        scopes=frozenset({Scope.service}),
        label=Text(zh="列出沙箱", en="list the sandboxes"),
        headline=Text(zh="列出沙箱：{nothing_lost}", en="list sandboxes. {nothing_lost}"),
    ),
    ActionSpec(
        name="sandbox.image",
        scopes=frozenset({Scope.service}),
        label=Text(zh="查看沙箱镜像", en="look at the sandbox image"),
        headline=Text(zh="查看沙箱镜像：{nothing_lost}", en="see the image. {nothing_lost}"),
    ),
    ActionSpec(
        name="sandbox.keep",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="保留沙箱描述", en="keep a sandbox's description"),
        headline=Text(
            zh="让沙箱 {sandbox} 的说明保持不变：{nothing_lost}",
            en="keep sandbox {sandbox} described as it is. {nothing_lost}",
        ),
        targets=_BOX,
        has_no_effect=True,
    ),
    ActionSpec(
        name="sandbox.create",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="创建沙箱", en="create a sandbox"),
        headline=Text(
            zh="创建沙箱 {sandbox}：占一个名额，{nothing_lost}",
            en="create sandbox {sandbox}: it takes a slot. {nothing_lost}",
        ),
        targets=_BOX,
        effects=_MADE,
        words={"network": _NETWORKS},
        expected={"created": Text(zh="已创建", en="created")},
    ),
    ActionSpec(
        name="sandbox.describe",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="修改沙箱描述", en="change a sandbox's description"),
        headline=Text(
            zh="修改沙箱 {sandbox} 的用途说明：原来的说明会被替换。",
            en="describe sandbox {sandbox} anew: its old description is replaced.",
        ),
        targets=_BOX,
        effects={"purpose": Text(zh="用途", en="Purpose")},
    ),
    ActionSpec(
        name="sandbox.stop",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="停止沙箱", en="stop a sandbox"),
        headline=Text(
            zh="停止沙箱 {sandbox}：正在运行的程序会中断，文件保留。",
            en="stop sandbox {sandbox}: what runs in it is ended, files stay.",
        ),
        targets=_BOX,
        effects={"files": _FILES},
        words={"files": _FATES},
        expected={"stop": Text(zh="停止", en="stop")},
    ),
    ActionSpec(
        name="sandbox.delete",
        scopes=frozenset({Scope.sandbox}),
        label=Text(zh="删除沙箱", en="delete a sandbox"),
        headline=Text(
            zh="删除沙箱 {sandbox}：{files_lost}", en="delete sandbox {sandbox}: {files_lost}"
        ),
        targets=_BOX,
        effects={"files": _FILES},
        words={"files": _FATES},
        expected={"delete": Text(zh="删除", en="delete")},
    ),
    ActionSpec(
        name="sandbox.expire",
        scopes=frozenset({Scope.lifecycle}),
        label=Text(zh="删除过期沙箱", en="delete a sandbox that expired"),
        targets=_BOX,
        effects={"files": _FILES},
        expected={"deleted": Text(zh="已删除", en="deleted")},
    ),
    ActionSpec(
        name="sandbox.replace",
        scopes=frozenset({Scope.lifecycle}),
        label=Text(zh="为更换镜像删除沙箱", en="delete a sandbox for a new image"),
        targets=_BOX,
        effects={"files": _FILES},
    ),
    ActionSpec(
        name="sandbox.clean",
        scopes=frozenset({Scope.lifecycle}),
        label=Text(zh="清理沙箱残留", en="clean up what is left of a sandbox"),
        targets=_BOX,
        effects={"files": _FILES},
    ),
    ActionSpec(
        name="image.introduce",
        scopes=frozenset({Scope.service}),
        label=Text(zh="修改镜像介绍", en="change the image's introduction"),
        headline=Text(
            zh="修改沙箱镜像的介绍：原来的介绍会被替换。",
            en="introduce the sandbox image anew: its old introduction is replaced.",
        ),
        targets={"image_digest": _DIGEST, "image_revision": _REVISION},
        effects={"introduction": _INTRODUCTION},
    ),
    ActionSpec(
        name="image.switch",
        scopes=frozenset({Scope.service}),
        label=Text(zh="更换沙箱镜像", en="switch the sandbox image"),
        headline=Text(
            zh="把沙箱镜像换成 {reference}：{destroyed}",
            en="switch the sandbox image to {reference}: {destroyed}",
        ),
        targets={"image_digest": _DIGEST, "reference": Text(zh="镜像", en="Image")},
        effects={
            "from_digest": Text(zh="原镜像摘要", en="Image digest before"),
            "from_revision": Text(zh="原镜像修订", en="Image revision before"),
            "introduction": _INTRODUCTION,
            "destroys": Text(zh="将销毁的沙箱", en="Sandboxes destroyed"),
        },
        expected={"image.switch": Text(zh="更换镜像", en="image.switch")},
    ),
    ActionSpec(
        name="image.retry",
        scopes=frozenset({Scope.service}),
        label=Text(zh="继续更换镜像", en="go on with an image switch"),
        headline=Text(
            zh="让受阻的镜像更换继续：批准过要删除的沙箱会接着删除。",
            en="let the blocked image switch go on: what it was to delete is deleted.",
        ),
        targets={
            "switch": Text(zh="镜像更换编号", en="Number of the switch"),
            "image_digest": _DIGEST,
        },
    ),
    ActionSpec(
        name="node.write_off",
        scopes=frozenset({Scope.node}),
        label=Text(zh="核销节点", en="write a node off"),
        headline=Text(zh="核销节点 {node}：{lost}", en="write node {node} off: {lost}"),
        targets={"node": _NODE},
        effects={
            "verdict": Text(zh="对节点的判断", en="Verdict on the node"),
            "since_ms": Text(zh="从何时起（毫秒时间戳）", en="Since (milliseconds)"),
            "loses": Text(zh="将记为丢失的沙箱", en="Sandboxes lost"),
        },
        words={
            "verdict": {
                "silent": Text(zh="没有动静", en="silent"),
                "unreachable": Text(zh="失联", en="unreachable"),
                "not configured": Text(zh="配置里没有它", en="not configured"),
            }
        },
        expected={"node.write_off": Text(zh="核销节点", en="node.write_off")},
    ),
    ActionSpec(
        name="orphan.delete",
        scopes=frozenset({Scope.node}),
        label=Text(zh="删除不属于本服务的沙箱", en="delete a sandbox that was never ours"),
        headline=Text(
            zh="删除节点 {node} 上不属于本服务的沙箱 {sandbox}：{files_lost}",
            en="delete sandbox {sandbox} on node {node}, which is not ours: {files_lost}",
        ),
        targets={**_BOX, "orphan": Text(zh="残留编号", en="Remnant number")},
        effects={"files": _FILES},
        words={"files": _FATES},
        expected={"orphan.delete": Text(zh="删除残留", en="orphan.delete")},
    ),
    ActionSpec(
        name="dependency.install",
        scopes=frozenset({Scope.allowed_mirror}),
        label=Text(zh="安装依赖", en="install dependencies"),
        targets=_BOX,
        effects={**_COMMAND, "installs": Text(zh="安装工具", en="Installs with")},
        ends_with_task=True,
    ),
)
"""Those of tools, those of Owners' commands, and those that a policy sets off by itself."""
