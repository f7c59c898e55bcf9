"""Sandboxes are on only with a report that passed and speaks for the node."""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gate.rig.node import Node, Program
from perlica.app.capabilities.gate_report import (
    NodeIdentity,
    differences,
    identity_of,
    judge_report,
    judge_sockets,
    read_report,
)
from perlica.app.capabilities.sandbox import judge_sandbox
from perlica.app.capabilities.standing import Standing
from perlica.domain.errors import Retryable
from perlica.domain.texts import Language
from sandboxd.config import load_config
from sandboxd.identity import configuration_digest, filesystem_of

WriteReport = Callable[..., Path]
NODE = NodeIdentity(
    kernel="6.18.0",
    runtime="crun",
    runtime_version="1.8.1",
    cgroup_mode="v2",
    sandboxd="0.1.0",
    file_system="ext4",
    configuration="c" * 64,
    code="e" * 64,
)


def capability(path: Path | None, node: NodeIdentity = NODE, *, demo: bool = False) -> Standing:
    gate = judge_report(path, {"node-1": lambda: node})
    return judge_sandbox(complete=True, lacks=(), demo=demo, gate=gate)


@pytest.mark.evidence(18)
def test_a_report_that_passed_and_matches_switches_sandboxes_on(write_report: WriteReport) -> None:
    found = capability(write_report())

    assert found.on
    assert not found.experimental


@pytest.mark.evidence(18)
def test_without_a_report_they_are_off() -> None:
    found = capability(None)

    assert not found.on
    assert "gate-full" in found.remedy.say(Language.en)


@pytest.mark.evidence(18)
def test_a_report_that_cannot_be_used_and_a_silent_node_are_said_in_the_groups_language(
    tmp_path: Path, write_report: WriteReport
) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}")

    def is_silent() -> NodeIdentity:
        raise Retryable("sandboxd_unreachable", "the node daemon did not answer (gaierror)")

    silent = judge_report(write_report(), {"node-1": is_silent}).reason

    missing = capability(tmp_path / "absent.json").reason.say(Language.zh)
    assert missing == "闸门报告不可用：没有这个文件"
    assert capability(broken).reason.say(Language.zh) == "闸门报告不可用：文件不是认识的格式"
    assert silent.say(Language.zh) == "无法核对闸门报告，节点 node-1：节点没有应答"
    assert "gaierror" in silent.say(Language.en)


@pytest.mark.evidence(18)
def test_without_a_report_the_demo_mode_shows_them_as_experimental() -> None:
    found = capability(None, demo=True)

    assert found.on
    assert found.experimental


@pytest.mark.evidence(18)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kernel", "6.19.0"),
        ("runtime", "runc"),
        ("runtime_version", "1.9"),
        ("cgroup_mode", "hybrid"),
        ("sandboxd", "0.2.0"),
        ("file_system", "xfs"),
        ("file_system", None),
        ("configuration", "d" * 64),
        ("configuration", None),
        ("code", "f" * 64),
        ("code", None),
    ],
)
def test_a_node_that_differs_keeps_them_off_and_is_told_what_differs(
    write_report: WriteReport, field: str, value: str | None
) -> None:
    change: dict[str, Any] = {field: value}
    found = capability(write_report(), dataclasses.replace(NODE, **change))

    assert not found.on
    assert field in found.reason.say(Language.en)
    assert field in found.reason.say(Language.zh)


@pytest.mark.evidence(18)
def test_each_node_must_match(write_report: WriteReport) -> None:
    other = dataclasses.replace(NODE, kernel="6.1.0")

    verdict = judge_report(write_report(), {"node-1": lambda: NODE, "node-2": lambda: other})

    assert not verdict.allows
    assert "node-2" in verdict.reason.say(Language.en)


@pytest.mark.evidence(18)
def test_a_node_that_does_not_answer_keeps_them_off(write_report: WriteReport) -> None:
    def ask() -> NodeIdentity:
        raise Retryable("sandboxd_down", "nobody answers")

    verdict = judge_report(write_report(), {"node-1": ask})

    assert not verdict.allows
    assert "start sandboxd" in verdict.remedy.say(Language.en)


def _turn(path: Path, key: str, outcome: str) -> Path:
    document = json.loads(path.read_text("utf-8"))
    for line in document["lines"]:
        if line["key"] == key:
            line["outcome"] = outcome
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


@pytest.mark.evidence(18)
@pytest.mark.parametrize("outcome", ["fail", "not run"])
def test_the_word_passed_is_not_believed_when_a_line_says_otherwise(
    write_report: WriteReport, outcome: str
) -> None:
    found = capability(_turn(write_report(), "power.cuts", outcome))

    assert not found.on
    assert "power.cuts" in found.reason.say(Language.en)


@pytest.mark.evidence(18)
@pytest.mark.parametrize("key", ["rootfs.hard-links", "control.volatile", "limits.memory"])
def test_a_report_that_leaves_a_line_out_is_no_report(write_report: WriteReport, key: str) -> None:
    found = capability(write_report(without=key))

    assert not found.on
    assert key in found.reason.say(Language.en)


@pytest.mark.evidence(18)
def test_a_report_says_itself_that_it_did_not_pass(write_report: WriteReport) -> None:
    assert not capability(write_report(passed=False)).on


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"format": 2}', "\0"])
def test_a_file_that_is_no_report_keeps_them_off(tmp_path: Path, content: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8")

    assert not capability(path).on


@pytest.mark.evidence(18)
@pytest.mark.parametrize("mode", [0o666, 0o664])
def test_a_report_that_others_can_write_keeps_them_off(
    write_report: WriteReport, tmp_path: Path, mode: int
) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(write_report())
    link.chmod(mode)
    refused = capability(link)
    link.chmod(0o644)

    assert not refused.on
    assert "others can write" in refused.reason.say(Language.en)
    assert capability(link).on


@pytest.mark.evidence(18)
def test_a_report_that_is_no_regular_file_keeps_them_off_and_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    os.mkfifo(path)

    assert not capability(path).on
    assert not capability(tmp_path).on
    assert not capability(Path("/dev/zero")).on


@pytest.mark.evidence(18)
def test_a_report_that_is_not_there_keeps_them_off(tmp_path: Path) -> None:
    assert not capability(tmp_path / "none.json").on


def test_an_unknown_fact_of_the_node_is_refused(write_report: WriteReport, tmp_path: Path) -> None:
    assert not capability(write_report(turned={"host": "somewhere"})).on


@pytest.mark.evidence(18)
def test_a_real_node_is_asked_over_its_socket(
    needs_node: None, write_report: WriteReport, tmp_path: Path
) -> None:
    home = tmp_path / f"gate-{tmp_path.name[-8:]}"
    home.mkdir()
    node = Node(home, load_config(None, {}), Program(), name="asked")
    try:
        node.start()
        verdict = judge_sockets(write_report(), {"asked": node.run / "sandboxd.sock"})
    finally:
        left = node.remove()

    assert left == []
    assert not verdict.allows
    assert "kernel 6.18.0 reported" in verdict.reason.say(Language.en)


@pytest.mark.evidence(18)
def test_a_real_node_that_tells_what_its_report_says_switches_sandboxes_on(
    needs_node: None, write_report: WriteReport, tmp_path: Path
) -> None:
    home = tmp_path / f"gate-{tmp_path.name[-8:]}"
    home.mkdir()
    config = load_config(None, {})
    node = Node(home, config, Program(), name="asked")
    try:
        node.start()
        own = identity_of(node.client.health())
        report = write_report(turned=dataclasses.asdict(own))
        verdict = judge_sockets(report, {"asked": node.run / "sandboxd.sock"})
    finally:
        left = node.remove()

    assert left == []
    assert own.configuration == configuration_digest(config)
    assert own.file_system == filesystem_of(tmp_path)
    assert verdict.allows


@pytest.mark.evidence(18)
def test_a_node_that_is_not_there_is_named(write_report: WriteReport, tmp_path: Path) -> None:
    verdict = judge_sockets(write_report(), {"gone": tmp_path / "none.sock"})

    assert not verdict.allows
    assert "gone" in verdict.reason.say(Language.en)


def test_nothing_differs_between_a_node_and_its_own_report(write_report: WriteReport) -> None:
    assert differences(read_report(write_report()), NODE) == ()
