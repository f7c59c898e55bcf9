"""What can be switched off without stopping the service, and why it is.

Shown by the doctor, `.status` and the console; wiring leaves out what is off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from perlica.app.gate_report import GateVerdict, judge_report
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


def judge_sandbox(
    *, complete: bool, lacks: Sequence[str], demo: bool, gate: GateVerdict | None = None
) -> Capability:
    """Whether sandboxes are on: their section is whole, and the gate or the demo mode allows it.

    `gate` is what the report says (`app.gate_report.judge_report`); None counts as no report.
    With a report that speaks for the node they are on as proved, also in demo mode.
    """
    verdict = gate or judge_report(None, {})
    if not complete:
        keys = ", ".join(lacks) or SANDBOX
        return _off(
            reason=Text(zh=f"配置里缺少 {keys}", en=f"the configuration lacks {keys}"),
            remedy=Text(
                zh="照 config.example.toml 补全 [sandbox]",
                en="complete [sandbox] after config.example.toml",
            ),
        )
    if verdict.allows:
        return Capability(
            name=SANDBOX, label=_LABEL, on=True, reason=verdict.reason, remedy=verdict.remedy
        )
    if not demo:
        return _off(reason=verdict.reason, remedy=verdict.remedy)
    return Capability(
        name=SANDBOX,
        label=_LABEL,
        on=True,
        experimental=True,
        reason=Text(zh="演示模式，未经闸门验证", en="demo mode, not proved by the gate"),
        remedy=Text(zh="不要用于正式环境", en="do not use it in production"),
    )


def _off(*, reason: Text, remedy: Text) -> Capability:
    return Capability(name=SANDBOX, label=_LABEL, on=False, reason=reason, remedy=remedy)
