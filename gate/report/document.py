"""The report as a document: what was judged, what was seen, what follows.

It names no host and no path of the machine. The service compares `node` with the node that it is
about to use (perlica.app.capabilities.gate_report reads this format).
"""

from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from gate.lines import Line, Outcome


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NodeIdentity(_Part):
    """What must be the same on a node for a report to speak for it."""

    kernel: str
    architecture: str
    runtime: str
    runtime_version: str
    cgroup_mode: str
    file_system: str
    """Of the state directory."""
    sandboxd: str
    """Version of the daemon."""
    configuration: str
    """SHA-256 over everything that decides how a sandbox is mounted, confined and let out."""
    code: str
    """SHA-256 over sandboxd's own files."""


class Facts(_Part):
    """What else is worth knowing of the node."""

    node: NodeIdentity
    image_digest: str
    image_squashfs_sha256: str
    seccomp: str
    mandatory_access_control: str
    node_rights: tuple[str, ...]
    runtime_class: str
    storage: str
    programs: dict[str, str]


class ReportLine(_Part):
    """One claim."""

    key: str
    claim: str
    outcome: Outcome
    detail: str
    took_ms: int


class Surface(_Part):
    """Something that a sandbox can do, and why that is harmless."""

    can: str
    because: str


class Report(_Part):
    """The whole of it. `passed`: every line passed, but those that only a cluster can show."""

    format: Literal[1] = 1
    depth: str
    passed: bool
    took_s: int
    made_at_ms: int
    facts: Facts
    escape_surface: tuple[Surface, ...]
    risks: tuple[str, ...]
    lines: tuple[ReportLine, ...]


def make_report(
    lines: Sequence[Line], facts: Facts, *, depth: str, took_s: float, made_at_ms: int
) -> Report:
    """The report of a finished run."""
    return Report(
        depth=depth,
        passed=bool(lines) and all(line.is_good for line in lines),
        took_s=round(took_s),
        made_at_ms=made_at_ms,
        facts=facts,
        escape_surface=tuple(_surface(lines)),
        risks=tuple(_risks(lines, facts)),
        lines=tuple(
            ReportLine(
                key=line.key,
                claim=line.claim,
                outcome=line.outcome,
                detail=line.detail,
                took_ms=line.took_ms,
            )
            for line in lines
        ),
    )


def _surface(lines: Sequence[Line]) -> list[Surface]:
    word = "allowed: "
    return [
        Surface(can=line.claim.replace("cannot", "can", 1), because=line.detail.removeprefix(word))
        for line in lines
        if line.key.startswith("escape.") and line.detail.startswith(word)
    ]


def _risks(lines: Sequence[Line], facts: Facts) -> list[str]:
    risks = [
        (
            "Sandboxes share the node's kernel: a fault in a system call that the filter allows is "
            "a way out. Keep the kernel current, and give sandboxes a node of their own."
        ),
        "sandboxd needs CAP_SYS_ADMIN on the node. Only the service may reach its socket.",
    ]
    risks.append(
        "The disk must write a block of 4 KiB whole or not at all, as disks with 4 KiB sectors do; "
        "power.flushes tears writes between blocks only. Disks with 512-byte sectors are not shown."
    )
    if facts.mandatory_access_control == "none":
        risks.append(
            "Neither AppArmor nor SELinux confines the container on this node: namespaces, "
            "capabilities and the system-call filter stand alone."
        )
    risks += [f"Not shown: {line.claim} ({line.detail})." for line in lines if not _was_tried(line)]
    return risks


def _was_tried(line: Line) -> bool:
    return line.outcome != "not run"
