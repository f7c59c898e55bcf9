"""What the service tells the group about sandboxes by itself: expired, lost, left over, switched.

Said by the keeper and by the commands' execution; every function returns plain text that still has
to pass `protect`.
"""

from collections.abc import Mapping, Sequence

from perlica.domain.node import NodeState
from perlica.domain.texts.escape import clip_line
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.language import Language, Text, say_duration, say_list

_LINE_CODE_POINTS = 100
_DIGEST_DIGITS = 12

_EXPIRED = Text(
    zh="沙箱 {name} 连续 {idle} 没有使用，已按策略删除。",
    en="Sandbox {name} was not used for {idle} and is deleted by policy.",
)
_LOST = Text(
    zh="沙箱 {name} 已丢失（节点 {node}：{reason}）。不会迁移；节点恢复后只清理残留。",
    en="Sandbox {name} is lost (node {node}: {reason}). It is not moved elsewhere; "
    "when the node returns only remnants are cleaned.",
)
_ORPHANS = Text(
    zh="有 {count} 个沙箱没有清理干净：{names}。会继续重试，.orphans 查看。",
    en="{count} sandbox(es) could not be cleaned up: {names}. It is tried again; see .orphans.",
)
_ORPHAN = Text(zh="{name}（{reason}）", en="{name} ({reason})")
_OTHER_IMAGE = Text(
    zh="沙箱 {name} 在节点上的镜像和记录不一致，请 Owner 检查节点 {node}。",
    en="Sandbox {name} lies on its node with another image than recorded; "
    "an Owner should look at node {node}.",
)
_NODES: Mapping[NodeState, Text] = {
    NodeState.alive: Text(zh="节点 {node} 恢复正常。", en="Node {node} is well again."),
    NodeState.silent: Text(
        zh="节点 {node} 失联已久，也没有对照可以证明是它的问题。它的沙箱保留名额；"
        "确认无法恢复时，Owner 可发 .node writeoff {node}。",
        en="Node {node} has been silent for long, and no control shows that it is the node. "
        "Its sandboxes keep their places; an Owner may send .node writeoff {node}.",
    ),
    NodeState.unreachable: Text(
        zh="节点 {node} 判定为失联。它的沙箱保留名额；确认无法恢复时，"
        "Owner 可发 .node writeoff {node}。",
        en="Node {node} is unreachable. Its sandboxes keep their places; "
        "an Owner may send .node writeoff {node}.",
    ),
    NodeState.absent: Text(
        zh="节点 {node} 已不存在（有确证），它的沙箱记为丢失。",
        en="Node {node} is gone (by positive evidence); its sandboxes are lost.",
    ),
    NodeState.written_off: Text(
        zh="节点 {node} 已核销，它的沙箱记为丢失，名额已释放。",
        en="Node {node} is written off; its sandboxes are lost and their places are free.",
    ),
}
NODE_STATES: Mapping[NodeState, Text] = {
    NodeState.alive: Text(zh="正常", en="well"),
    NodeState.observed: Text(zh="有几次没应答", en="missed some looks"),
    NodeState.silent: Text(zh="失联（无对照）", en="silent (no control)"),
    NodeState.unreachable: Text(zh="失联", en="unreachable"),
    NodeState.absent: Text(zh="已不存在", en="gone"),
    NodeState.written_off: Text(zh="已核销", en="written off"),
}
_SWITCH_BEGUN = Text(
    zh="开始更换沙箱镜像（到 {digest}）：暂停创建，销毁 {count} 个沙箱。",
    en="Switching the sandbox image (to {digest}): nothing is created, {count} sandbox(es) go.",
)
_SWITCH_BLOCKED = Text(
    zh="更换镜像受阻：{reason}。沙箱创建保持暂停；处理后请 Owner 发 .image retry。",
    en="The image switch is blocked: {reason}. Nothing is created meanwhile; "
    "when it is dealt with, an Owner sends .image retry.",
)
_SWITCH_DONE = Text(
    zh="沙箱镜像已更换为 {digest}（修订 {revision}），可以创建沙箱。",
    en="The sandbox image is {digest} now (revision {revision}); sandboxes can be created.",
)
_IMAGE_CONFIGURED = Text(
    zh="沙箱镜像已按配置设为 {digest}（修订 {revision}），已记入审计。",
    en="The sandbox image is {digest} now (revision {revision}), by configuration; audited.",
)
_IMAGE_NOT_CONFIGURED = Text(
    zh="配置里的沙箱镜像 {digest}（修订 {revision}）没有生效：还有沙箱或没清理完的残留。"
    "请 Owner 用 .image 切换，或先删除它们再重启。",
    en="The configured sandbox image {digest} (revision {revision}) was not taken over: sandboxes "
    "or their remains exist. Owners: switch with .image, or delete them first and restart.",
)
_ORPHAN_RELEASED = Text(
    zh="节点上不属于本服务的沙箱 {name} 即将删除。",
    en="Sandbox {name}, which was never ours, is deleted next.",
)
_OUTPUT = Text(
    zh="命令还在运行，已输出 {bytes} 字节。", en=" The command runs on, {bytes} bytes of output."
)
_LAST_LINE = Text(zh="最近一行：{line}", en=" Last line: {line}")
_COMMAND_DONE = Text(zh="沙箱 {name}：{action}完成。", en="Sandbox {name}: {action} is done.")
_COMMAND_FAILED = Text(
    zh="沙箱 {name}：{action}没有成功（{reason}）。",
    en="Sandbox {name}: {action} did not succeed ({reason}).",
)


def say_expired(name: str, idle_ms: int, language: Language) -> str:
    """A sandbox went because nobody used it."""
    return _EXPIRED.say(language, name=name, idle=say_duration(idle_ms, language))


def say_lost(name: str, node: str, reason: str, language: Language) -> str:
    """A sandbox is lost with its node, or is missing on it."""
    return _LOST.say(language, name=name, node=node, reason=say_fault(reason, language))


def say_orphans(orphans: Sequence[tuple[str, str]], language: Language) -> str:
    """Names and reasons of what could not be cleaned up, on one line."""
    names = say_list(
        (
            _ORPHAN.say(language, name=name, reason=say_fault(why, language))
            for name, why in orphans
        ),
        language,
    )
    return _ORPHANS.say(language, count=len(orphans), names=names)


def say_other_image(name: str, node: str, language: Language) -> str:
    """Books and node disagree about a sandbox's image."""
    return _OTHER_IMAGE.say(language, name=name, node=node)


def say_node(node: str, state: NodeState, language: Language) -> str:
    """A node's state changed; "" for one that needs no line."""
    text = _NODES.get(state)
    return "" if text is None else text.say(language, node=node)


def say_node_written_off(node: str, language: Language) -> str:
    """An Owner gave a node up."""
    return _NODES[NodeState.written_off].say(language, node=node)


def say_orphan_released(name: str, language: Language) -> str:
    """An Owner let something be deleted that was never ours."""
    return _ORPHAN_RELEASED.say(language, name=name)


def say_switch_begun(digest: str, count: int, language: Language) -> str:
    """A switch of the image began."""
    return _SWITCH_BEGUN.say(language, digest=short_digest(digest), count=count)


def say_switch_blocked(reason: str, language: Language) -> str:
    """A switch of the image waits for an Owner."""
    return _SWITCH_BLOCKED.say(language, reason=say_fault(reason, language))


def say_switch_done(digest: str, revision: int, language: Language) -> str:
    """A switch of the image is through."""
    return _SWITCH_DONE.say(language, digest=short_digest(digest), revision=revision)


def say_image_configured(digest: str, revision: int, language: Language) -> str:
    """The configuration's image is in force since this start."""
    return _IMAGE_CONFIGURED.say(language, digest=short_digest(digest), revision=revision)


def say_image_not_configured(digest: str, revision: int, language: Language) -> str:
    """The configuration's image is not in force, and what to do about it."""
    return _IMAGE_NOT_CONFIGURED.say(language, digest=short_digest(digest), revision=revision)


def say_output(output_bytes: int, line: str, language: Language) -> str:
    """How far a running command is; goes behind the line about its task."""
    said = _OUTPUT.say(language, bytes=output_bytes)
    shown = clip_line(line, _LINE_CODE_POINTS)
    return said + _LAST_LINE.say(language, line=shown) if shown else said


def say_command_ended(name: str, action: str, fault: str, language: Language) -> str:
    """What became of a command on a sandbox; `action` is a label, `fault` empty for success."""
    if not fault:
        return _COMMAND_DONE.say(language, name=name, action=action)
    return _COMMAND_FAILED.say(
        language, name=name, action=action, reason=say_fault(fault, language)
    )


def short_digest(digest: str) -> str:
    """The beginning of a digest, enough to tell images apart by eye: `sha256:0123456789ab`."""
    algorithm, _, digits = digest.partition(":")
    return f"{algorithm}:{digits[:_DIGEST_DIGITS]}"
