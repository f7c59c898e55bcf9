"""The sandbox capability: on with a gate's report that speaks for every node, or as a demo."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from perlica.app.capabilities.gate_report import GateVerdict, judge_report
from perlica.app.capabilities.standing import CapabilityName, Standing, State
from perlica.domain.texts import Text

if TYPE_CHECKING:
    from perlica.app.config.root import Config

SECTION: Final = "sandbox"
_LABEL: Final = Text(zh="沙箱", en="sandboxes")
_EVIDENCE: Final = (7, 11, 13, 15, 16, 17, 18)


def judge_sandbox_of(config: "Config") -> Standing:
    """By the configuration; before the nodes were compared the report is judged by itself."""
    section = config.sandbox
    return judge_sandbox(
        complete=section is not None,
        lacks=config.lacks.get(SECTION, ()),
        demo=config.service.demo,
        gate=config.gate or judge_report(section.gate_report if section else None, {}),
    )


def judge_sandbox(
    *, complete: bool, lacks: Sequence[str], demo: bool, gate: GateVerdict
) -> Standing:
    """Whether sandboxes are on: their section is whole, and the gate or the demo mode allows it.

    `gate` is what the report says (`judge_report`). With a report that speaks for the node they are
    on as proved, also in demo mode.
    """
    if not complete:
        keys = ", ".join(lacks) or SECTION
        return _stands(
            State.off,
            reason=Text(zh=f"配置里缺少 {keys}", en=f"the configuration lacks {keys}"),
            remedy=Text(
                zh="照 config.example.toml 补全 [sandbox]",
                en="complete [sandbox] after config.example.toml",
            ),
        )
    if gate.allows:
        return _stands(State.on, reason=gate.reason, remedy=gate.remedy)
    if not demo:
        return _stands(State.off, reason=gate.reason, remedy=gate.remedy)
    return _stands(
        State.experimental,
        reason=Text(zh="演示模式，未经闸门验证", en="demo mode, not proved by the gate"),
        remedy=Text(zh="不要用于正式环境", en="do not use it in production"),
    )


def _stands(state: State, *, reason: Text, remedy: Text) -> Standing:
    return Standing(
        name=CapabilityName.sandbox,
        label=_LABEL,
        state=state,
        reason=reason,
        remedy=remedy,
        evidence=_EVIDENCE,
    )
