"""Reads a report of the rootfs gate and says whether it speaks for the nodes that are to be used.

Sandboxes are switched on by a report that passed and whose kernel, runtime, file system and
configuration are those of every node (`perlica.app.capabilities`); the doctor names what differs.
The verdict is worked out anew from the lines: a changed word "passed" changes nothing.
"""

import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from perlica.app.descriptor import opened, read_at_most
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.errors import Misconfigured, PerlicaError
from perlica.domain.texts import Language, Text
from perlica.domain.texts.faults import say_fault
from sandboxd.wire import HealthReport

MAX_REPORT_BYTES: Final = 4 * 1024 * 1024
_MAY_BE_MISSING: Final = ("cluster.", "power.hardware")
"""What only a cluster, or a machine whose power can be cut, can show."""
_MUST_BE_THERE: Final = frozenset(
    """
    image.digest image.squashfs rootfs.options rootfs.files rootfs.whiteouts rootfs.rename
    rootfs.permissions rootfs.hard-links rootfs.copy-up rootfs.remount restart.daemon
    restart.runtime restart.fsync recovery.creation recovery.deletion recovery.offline
    conflict.second-mount conflict.other-image conflict.lock node.pin isolation.rights
    limits.processes limits.memory limits.disk limits.inodes limits.output limits.zombies
    egress.allowed egress.other-names egress.addresses egress.server-names egress.look-ups
    egress.audit egress.none egress.uploads egress.enforced
    power.cuts power.flushes control.volatile control.ignored-flushes machine.leftovers
    """.split()
)
FULL_DEPTH: Final = "gate-full"
"""A shorter run shows the same claims with too few cuts to prove them."""
_ESCAPES_AT_LEAST: Final = 90
_MAX_NAMED: Final = 5
_MAX_WORD: Final = 24
_SHORT_WORD: Final = 12


class _Part(BaseModel):
    """Closed where it decides; what is only for people may grow."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class ReportedNode(BaseModel):
    """What the report speaks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kernel: str
    architecture: str
    runtime: str
    runtime_version: str
    cgroup_mode: str
    file_system: str
    sandboxd: str
    configuration: str
    code: str = ""
    """Reports from before it was told speak for no code."""


class ReportedLine(_Part):
    """One claim and what became of it."""

    key: str
    outcome: Literal["pass", "fail", "not run"]

    @property
    def is_good(self) -> bool:
        """Only what cannot be shown on one node may be missing."""
        may_be_missing = self.key.startswith(_MAY_BE_MISSING)
        return self.outcome == "pass" or (self.outcome == "not run" and may_be_missing)


class ReportedFacts(_Part):
    """The node stands among other facts."""

    node: ReportedNode


class GateReport(_Part):
    """As `python -m gate` writes it."""

    format: Literal[1]
    depth: str
    passed: bool
    facts: ReportedFacts
    lines: tuple[ReportedLine, ...]

    def faults(self) -> tuple[str, ...]:
        """Keys of the lines that keep the report from having passed."""
        present = {line.key for line in self.lines}
        bad = [line.key for line in self.lines if not line.is_good]
        escapes = sum(key.startswith("escape.") for key in present)
        return (
            *bad,
            *(("depth",) if self.depth != FULL_DEPTH else ()),
            *sorted(_MUST_BE_THERE - present),
            *(("escape",) if escapes < _ESCAPES_AT_LEAST else ()),
            *(("passed",) if not self.passed and not bad else ()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeIdentity:
    """What a node says of itself. A value that it does not say matches no report."""

    kernel: str
    runtime: str
    runtime_version: str
    cgroup_mode: str
    sandboxd: str
    file_system: str | None
    configuration: str | None
    code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that is not as reported; `found` is None when the node does not tell it."""

    what: str
    reported: str
    found: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """Whether the gate allows sandboxes, and what to say of it."""

    allows: bool
    reason: Text
    remedy: Text


_RUN_THE_GATE: Final = Text(
    zh="在该节点运行 make gate-full，并把报告路径写入 sandbox.gate_report",
    en="run make gate-full on that node and name the report in sandbox.gate_report",
)
_START_SANDBOXD: Final = Text(zh="先启动 sandboxd，再重试", en="start sandboxd, then try again")
_NO_REPORT: Final = GateVerdict(
    allows=False,
    reason=Text(
        zh="这个节点没有通过 rootfs 闸门的报告",
        en="there is no report that this node passed the rootfs gate",
    ),
    remedy=Text(
        zh="运行 make gate-full 并设置 sandbox.gate_report；试用可设 service.demo = true"
        "（NapCat 须在本机）",
        en="run make gate-full and set sandbox.gate_report; for a trial set service.demo = true "
        "(NapCat on this machine)",
    ),
)
_PASSED: Final = GateVerdict(
    allows=True,
    reason=Text(
        zh="闸门报告已通过，且与节点一致", en="the gate passed, and its report matches the node"
    ),
    remedy=Text(zh="", en=""),
)
_NOT_COMPARED: Final = GateVerdict(
    allows=True,
    reason=Text(
        zh="闸门报告已通过；每个节点在使用前核对",
        en="the gate passed; each node is compared before it is used",
    ),
    remedy=Text(zh="", en=""),
)


def identity_of(health: HealthReport) -> NodeIdentity:
    """The identity in a health answer. Older daemons do not tell all of it."""
    facts = health.facts
    return NodeIdentity(
        kernel=facts.kernel,
        runtime=facts.runtime,
        runtime_version=facts.runtime_version,
        cgroup_mode=facts.cgroup_mode,
        sandboxd=health.version,
        file_system=getattr(facts, "file_system", None),
        configuration=getattr(facts, "configuration", None),
        code=getattr(facts, "code", None),
    )


def ask_node(settings: SandboxdSettings) -> NodeIdentity:
    """Asks a node's sandboxd who it is. Raises: Retryable, Misconfigured."""
    return identity_of(SandboxdClient(settings).health())


def read_report(path: Path) -> GateReport:
    """The report in a file. Raises: Misconfigured when it is no report, or others can write it."""
    try:
        with opened(path) as descriptor:
            _require_own(os.fstat(descriptor))
            raw = read_at_most(descriptor, MAX_REPORT_BYTES)
        if len(raw) > MAX_REPORT_BYTES:
            raise Misconfigured("gate_report_too_large", "the gate report is too large")
        return GateReport.model_validate_json(raw)
    except FileNotFoundError as error:
        raise Misconfigured(
            "gate_report_missing", "the gate report cannot be read: there is no such file"
        ) from error
    except OSError as error:
        raise Misconfigured(
            "gate_report_unreadable", f"the gate report cannot be read: {error.strerror}"
        ) from error
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"]) or "the file"
        raise Misconfigured(
            "gate_report_invalid", f"the gate report is not in the known form: {where}"
        ) from error


def _require_own(status: os.stat_result) -> None:
    """Whoever can write the report can switch sandboxes on, so it is held to the rule of the
    configuration.
    """
    if not stat.S_ISREG(status.st_mode):
        raise Misconfigured("gate_report_not_a_file", "the gate report is not a regular file")
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if others_write or status.st_uid not in {0, os.geteuid()}:
        raise Misconfigured("gate_report_open_to_others", "others can write the gate report")


def differences(report: GateReport, node: NodeIdentity) -> tuple[Difference, ...]:
    """What of the node is not as reported; empty when the report speaks for it."""
    reported = report.facts.node
    pairs = (
        ("kernel", reported.kernel, node.kernel),
        ("runtime", reported.runtime, node.runtime),
        ("runtime_version", reported.runtime_version, node.runtime_version),
        ("cgroup_mode", reported.cgroup_mode, node.cgroup_mode),
        ("sandboxd", reported.sandboxd, node.sandboxd),
        ("file_system", reported.file_system, node.file_system),
        ("configuration", reported.configuration, node.configuration),
        ("code", reported.code, node.code),
    )
    return tuple(
        Difference(what=what, reported=wanted, found=found)
        for what, wanted, found in pairs
        if wanted != found
    )


def judge_report(
    path: Path | None,
    nodes: Mapping[str, Callable[[], NodeIdentity]],
    *,
    may_be_silent: bool = False,
) -> GateVerdict:
    """Whether the report at `path` allows sandboxes on all of `nodes` (name -> how to ask it).

    `may_be_silent`: a node that does not answer now is compared later, before it is used
    (`admission`), so that a dead node does not switch sandboxes off everywhere.
    """
    if path is None:
        return _NO_REPORT
    try:
        report = read_report(path)
    except Misconfigured as fault:
        return _refused(zh=f"闸门报告不可用：{say_fault(fault.code, Language.zh)}", en=fault.text)
    faults = report.faults()
    if faults:
        named = ", ".join(faults[:_MAX_NAMED])
        return _refused(zh=f"闸门报告没有通过：{named}", en=f"the gate did not pass: {named}")
    compared = 0
    for name, ask in nodes.items():
        try:
            found = differences(report, ask())
        except PerlicaError as fault:
            if not may_be_silent:
                return _silent(name, fault)
            continue
        if found:
            return _differs(name, found)
        compared += 1
    return _PASSED if compared and compared == len(nodes) else _NOT_COMPARED


def judge_settings(
    path: Path | None, nodes: Mapping[str, SandboxdSettings], *, may_be_silent: bool = False
) -> GateVerdict:
    """As `judge_report`, of the nodes that are reached in these ways."""
    asked = {name: partial(ask_node, settings) for name, settings in nodes.items()}
    return judge_report(path, asked, may_be_silent=may_be_silent)


def judge_sockets(path: Path | None, sockets: Mapping[str, Path]) -> GateVerdict:
    """As `judge_report`, of the nodes whose sandboxd listens at `sockets` (name -> socket)."""
    nodes = {name: SandboxdSettings(socket_path=at, epoch=0) for name, at in sockets.items()}
    return judge_settings(path, nodes)


def admission(report: GateReport) -> Callable[[HealthReport], None]:
    """What a client asks of a node before it runs anything on it.

    The answer raises Misconfigured when the node is not, or is no longer, the one that the report
    speaks for.
    """

    def admit(health: HealthReport) -> None:
        found = differences(report, identity_of(health))
        if found:
            verdict = _differs(health.node, found)
            raise Misconfigured(
                "gate_report_differs",
                verdict.reason.say(Language.en),
                remedy=verdict.remedy.say(Language.en),
            )

    return admit


def _silent(name: str, fault: PerlicaError) -> GateVerdict:
    return GateVerdict(
        allows=False,
        reason=_literal(
            zh=f"无法核对闸门报告，节点 {name}：{say_fault(fault.code, Language.zh)}",
            en=f"the report cannot be compared, node {name} does not answer: {fault.text}",
        ),
        remedy=_START_SANDBOXD,
    )


def _differs(name: str, found: tuple[Difference, ...]) -> GateVerdict:
    zh, en = "；".join(map(_in_chinese, found)), "; ".join(map(_in_english, found))
    return _refused(
        zh=f"闸门报告与节点 {name} 不一致：{zh}", en=f"node {name} is not as reported: {en}"
    )


def _refused(*, zh: str, en: str) -> GateVerdict:
    return GateVerdict(allows=False, reason=_literal(zh=zh, en=en), remedy=_RUN_THE_GATE)


def _literal(*, zh: str, en: str) -> Text:
    """Words of files and daemons stand in it: its braces name no field."""
    zh, en = (said.replace("{", "{{").replace("}", "}}") for said in (zh, en))
    return Text(zh=zh, en=en)


def _in_chinese(one: Difference) -> str:
    return (
        f"{one.what} 报告为 {_short(one.reported or '未写明')}，现为 {_short(one.found or '未知')}"
    )


def _in_english(one: Difference) -> str:
    reported = _short(one.reported or "not")
    return f"{one.what} {reported} reported, {_short(one.found or 'unknown')} found"


def _short(word: str) -> str:
    """Digests by their beginning; enough to see that they differ."""
    return word if len(word) <= _MAX_WORD else f"{word[:_SHORT_WORD]}…"
