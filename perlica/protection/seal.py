"""The sealed text: `Protected` is the only text that stores, clients, the gateway, logs and the
outbox accept.

Values are sealed by `perlica.protection.entry`; everything after it only cuts, joins and reads
them back.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from enum import StrEnum
from typing import Final

POLICY_VERSION: Final = "2026-12-01.1"
"""Version of the rule set; stored beside every protected text and bound into plan hashes."""


class Channel(StrEnum):
    """The door a text is about to pass."""

    MESSAGE = "message"
    MODEL = "model"
    TOOL_RESULT = "tool_result"
    TOOL_ARGUMENTS = "tool_arguments"
    AUDIT = "audit"
    LOG = "log"
    OUTBOX = "outbox"
    MEMORY = "memory"
    FETCH = "fetch"
    SEARCH = "search"
    UPLOAD = "upload"
    ATTACHMENT = "attachment"
    CLUSTER = "cluster"
    CONSOLE = "console"
    ERROR = "error"


class ProtectionStatus(StrEnum):
    """What is known about a text."""

    REDACTED = "redacted"
    SCANNED_NO_FINDINGS = "scanned_no_findings"
    SCAN_INCOMPLETE = "scan_incomplete"
    NOT_SCANNED = "not_scanned"


_WITHOUT_TEXT: Final = frozenset({ProtectionStatus.SCAN_INCOMPLETE, ProtectionStatus.NOT_SCANNED})
_BADNESS: Final = (
    ProtectionStatus.SCANNED_NO_FINDINGS,
    ProtectionStatus.REDACTED,
    ProtectionStatus.NOT_SCANNED,
    ProtectionStatus.SCAN_INCOMPLETE,
)
_KEY: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was redacted: what it was and which rule saw it; never a part, length or
    hash of it.
    """

    kind: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Protected:
    """A text that was scanned, with what was found. Only this package can make one.

    `content` is empty for `scan_incomplete` and `not_scanned`. `findings` is empty on a value
    that was
    read back from a store: there the count alone is kept.
    """

    content: str = field(repr=False)
    status: ProtectionStatus
    policy_version: str
    finding_count: int
    findings: tuple[Finding, ...] = ()
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        """Refuse every maker but this package, and text beside a status that promises none.

        Raises: ValueError for a status that does not go with its content.
        """
        if key is not _KEY:
            raise TypeError("Protected is made by perlica.protection.protect alone")
        if self.status in _WITHOUT_TEXT and self.content:
            raise ValueError(f"{self.status} carries no text")

    @property
    def is_usable(self) -> bool:
        """True when the scan ran to its end, so that `content` may be shown, sent or searched."""
        return self.status not in _WITHOUT_TEXT


def seal(
    content: str,
    findings: Sequence[Finding],
    *,
    count: int | None = None,
    policy_version: str = POLICY_VERSION,
) -> Protected:
    """Return `content` as scanned to its end; `count` stands in where the findings are not at
    hand.
    """
    number = len(findings) if count is None else count
    status = ProtectionStatus.REDACTED if number else ProtectionStatus.SCANNED_NO_FINDINGS
    return Protected(
        content=content,
        status=status,
        policy_version=policy_version,
        finding_count=number,
        findings=tuple(findings),
        key=_KEY,
    )


def withheld(status: ProtectionStatus, policy_version: str = POLICY_VERSION) -> Protected:
    """Return a value without text: the scan did not end, or never began."""
    return Protected(
        content="", status=status, policy_version=policy_version, finding_count=0, key=_KEY
    )


def not_scanned() -> Protected:
    """Return the value that stands for content which was never looked at, such as a video."""
    return withheld(ProtectionStatus.NOT_SCANNED)


def restore(content: str, status: str, policy_version: str, finding_count: int) -> Protected:
    """Return what a store read back from columns that were written from a `Protected`.

    For stores only.

    Raises:
        ValueError: the status is unknown, or text stands beside a status that promises none.
    """
    return Protected(
        content=content,
        status=ProtectionStatus(status),
        policy_version=policy_version,
        finding_count=finding_count,
        key=_KEY,
    )


def worst(statuses: Sequence[ProtectionStatus]) -> ProtectionStatus:
    """Return the status that promises least; of nothing at all: nothing was found."""
    return max(statuses, key=_BADNESS.index, default=ProtectionStatus.SCANNED_NO_FINDINGS)
