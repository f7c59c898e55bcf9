"""Who judges each capability: the one list. A judge sees the configuration, never another one."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from perlica.app.capabilities.sandbox import judge_sandbox_of
from perlica.app.capabilities.standing import Capabilities, CapabilityName, Standing

if TYPE_CHECKING:
    from perlica.app.config.root import Config

Judge = Callable[["Config"], Standing]

JUDGES: Final[Mapping[CapabilityName, Judge]] = {CapabilityName.sandbox: judge_sandbox_of}


def judge_all(config: "Config", judges: Mapping[CapabilityName, Judge] = JUDGES) -> Capabilities:
    """How each capability stands by this configuration."""
    return Capabilities({name: judge(config) for name, judge in judges.items()})
