"""How one capability stands: on, experimental or off, why, and what an operator may do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perlica.domain.texts import Text


class CapabilityName(StrEnum):
    """Every capability, also those that are still to come: `tests/evidence-pending.toml` names
    what an acceptance item waits for by it.
    """

    sandbox = "sandbox"
    memory = "memory"
    web = "web"
    attachments = "attachments"
    uploads = "uploads"
    clusters = "clusters"
    extensions = "extensions"


class State(StrEnum):
    """`experimental`: it works, without evidence that it keeps its promises."""

    on = "on"
    experimental = "experimental"
    off = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One capability; `evidence` names the acceptance items that speak of it."""

    name: CapabilityName
    label: Text
    state: State
    reason: Text
    remedy: Text
    evidence: tuple[int, ...] = ()

    @property
    def on(self) -> bool:
        """Whether it may be used, be it as an experiment."""
        return self.state is not State.off

    @property
    def experimental(self) -> bool:
        """Whether it may be used without evidence."""
        return self.state is State.experimental


_NOT_BUILT: Final = Text(zh="这个版本没有这项能力", en="this version does not have it")
_NOTHING: Final = Text(zh="", en="")


class Capabilities:
    """How each capability stands, by its name; iterating gives those that this version has."""

    def __init__(self, standings: Mapping[CapabilityName, Standing]) -> None:
        """Keep them in their order."""
        self._standings = dict(standings)

    def __getitem__(self, name: CapabilityName) -> Standing:
        """How it stands; one that this version does not have is off."""
        found = self._standings.get(name)
        if found is not None:
            return found
        label = Text(zh=name.value, en=name.value)
        return Standing(name=name, label=label, state=State.off, reason=_NOT_BUILT, remedy=_NOTHING)

    def __iter__(self) -> Iterator[Standing]:
        """Those that this version has, on or off."""
        return iter(self._standings.values())
