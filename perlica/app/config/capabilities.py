"""What can be switched off without stopping the service, and why it is.

Shown by the doctor, `.status` and the console; wiring leaves out what is off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perlica.domain.texts import Text

SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capability:
    """One capability. `experimental`: it works, without evidence that it keeps its promises."""

    name: str
    label: Text
    on: bool
    experimental: bool = False
    reason: Text
    remedy: Text


_LABEL = Text(zh="沙箱", en="sandboxes")


def judge_sandbox(*, complete: bool, lacks: Sequence[str], demo: bool) -> Capability:
    """Whether sandboxes are on: their section is whole, and the gate or the demo mode allows it.

    No gate report can be compared yet, so outside the demo mode they stay off (DESIGN §9).
    """
    if not complete:
        keys = ", ".join(lacks) or SANDBOX
        return Capability(
            name=SANDBOX,
            label=_LABEL,
            on=False,
            reason=Text(zh=f"配置里缺少 {keys}", en=f"the configuration lacks {keys}"),
            remedy=Text(
                zh="照 config.example.toml 补全 [sandbox]",
                en="complete [sandbox] after config.example.toml",
            ),
        )
    if not demo:
        return Capability(
            name=SANDBOX,
            label=_LABEL,
            on=False,
            reason=Text(
                zh="这个节点没有通过 rootfs 闸门的报告",
                en="there is no report that this node passed the rootfs gate",
            ),
            remedy=Text(
                zh="试用可设 service.demo = true（NapCat 须在本机）",
                en="for a trial set service.demo = true (NapCat on this machine)",
            ),
        )
    return Capability(
        name=SANDBOX,
        label=_LABEL,
        on=True,
        experimental=True,
        reason=Text(zh="演示模式，未经闸门验证", en="demo mode, not proved by the gate"),
        remedy=Text(zh="不要用于正式环境", en="do not use it in production"),
    )
