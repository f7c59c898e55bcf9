"""Where intake stands, in memory, for tests of the link."""

from dataclasses import dataclass, field

from perlica.clients.napcat import Gap


@dataclass
class MemoryPosition:
    """The position of intake, in memory."""

    stored: int | None = None
    held: int | None = None
    gaps: list[Gap] = field(default_factory=list)
    releases: int = 0

    def known_seq(self) -> int | None:
        return self.stored if self.held is None else self.held

    def hold(self, seq: int) -> None:
        self.held = seq

    def release(self) -> None:
        self.held = None
        self.releases += 1

    def report_gap(self, gap: Gap) -> None:
        self.gaps.append(gap)
