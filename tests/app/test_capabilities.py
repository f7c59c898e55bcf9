"""Capabilities by name: how one stands changes nothing about another one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from perlica.app import run
from perlica.app.capabilities import judging, sandbox_checks
from perlica.app.capabilities.judging import JUDGES, judge_all
from perlica.app.capabilities.standing import CapabilityName, Standing, State
from perlica.app.config import Config, parse_config
from perlica.app.console import console_settings
from perlica.app.doctor.findings import Finding
from perlica.app.doctor.host import check_capabilities
from perlica.clients.sandboxd import SandboxdClient
from perlica.domain.texts import Text
from perlica.stores.migrations import migrate
from tests.app.configs import MINIMAL, SANDBOX
from tests.gate.conftest import facts, write_report

__all__ = ["facts", "write_report"]

Turn = Callable[[CapabilityName, State], None]
WriteReport = Callable[..., Path]
OTHER = CapabilityName.web
STATES = list(State)


def stands(name: CapabilityName, state: State) -> Standing:
    words = Text(zh="因为", en="because")
    label = Text(zh=name.value, en=name.value)
    return Standing(name=name, label=label, state=state, reason=words, remedy=words)


@pytest.fixture
def turn(monkeypatch: pytest.MonkeyPatch) -> Turn:
    """Let a capability stand as the test says, whatever the configuration holds."""

    def turn(name: CapabilityName, state: State) -> None:
        judges = cast("dict[CapabilityName, judging.Judge]", JUDGES)
        monkeypatch.setitem(judges, name, lambda _: stands(name, state))

    return turn


def config_with(*, demo: bool = False, gate_report: Path | None = None) -> Config:
    text = MINIMAL.replace("[service]", f"[service]\ndemo = {str(demo).lower()}") + SANDBOX
    if gate_report is not None:
        text = text.replace("[sandbox]\n", f'[sandbox]\ngate_report = "{gate_report}"\n', 1)
    return parse_config(text)


def admissions_of(config: Config, path: Path) -> list[bool] | None:
    """Whether each node is compared with the report before it is used; None without sandboxes."""
    migrate(path)
    nodes = run._prepare_database(config, path)
    if nodes is None:
        return None
    clients = [cast("SandboxdClient", nodes.of(name)) for name in nodes.names]
    return [client._settings.admit is not None for client in clients]


@pytest.mark.parametrize("other", STATES)
@pytest.mark.parametrize("state", STATES)
def test_how_each_stands_is_its_own_affair(turn: Turn, state: State, other: State) -> None:
    turn(CapabilityName.sandbox, state)
    turn(OTHER, other)

    capabilities = config_with().capabilities()

    assert capabilities[CapabilityName.sandbox].state is state
    assert capabilities[OTHER].state is other
    assert [standing.name for standing in capabilities] == [CapabilityName.sandbox, OTHER]


@pytest.mark.parametrize("other", STATES)
def test_another_capability_switches_sandboxes_neither_off_nor_their_check_of_nodes(
    turn: Turn,
    write_report: WriteReport,
    tmp_path: Path,
    other: State,
) -> None:
    turn(OTHER, other)
    config = config_with(gate_report=write_report())

    assert admissions_of(config, tmp_path / "perlica.db") == [True]


@pytest.mark.parametrize("other", STATES)
def test_another_capability_switches_sandboxes_not_on(
    turn: Turn, tmp_path: Path, other: State
) -> None:
    turn(OTHER, other)

    assert admissions_of(config_with(), tmp_path / "perlica.db") is None


@pytest.mark.parametrize("other", STATES)
def test_a_demo_without_a_report_checks_no_node_whatever_else_stands_how(
    turn: Turn, tmp_path: Path, other: State
) -> None:
    turn(OTHER, other)

    assert admissions_of(config_with(demo=True), tmp_path / "perlica.db") == [False]


@pytest.mark.parametrize("other", STATES)
def test_the_doctor_asks_the_nodes_only_for_the_sandboxes_sake(turn: Turn, other: State) -> None:
    turn(OTHER, other)

    asked = [codes(sandbox_checks.check_sandboxd(config_with(demo=demo))) for demo in (True, False)]

    assert asked == [["sandboxd_unreachable"], []]


def codes(findings: Iterator[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def test_the_doctor_has_a_line_for_each_with_its_name(
    turn: Turn,
) -> None:
    turn(OTHER, State.experimental)

    found = {finding.subject: finding.code for finding in check_capabilities(config_with())}

    assert found == {
        "capability.sandbox": "capability_off",
        "capability.web": "capability_experimental",
    }


def test_what_a_section_lacks_concerns_its_own_capability_alone() -> None:
    config = parse_config(MINIMAL + "[sandbox]\nnetwork = 'none'\n")

    def judge_web(judged: Config) -> Standing:
        state = State.off if judged.lacks.get("web") else State.on
        return stands(OTHER, state)

    capabilities = judge_all(config, {**JUDGES, OTHER: judge_web})

    assert not capabilities[CapabilityName.sandbox].on
    assert capabilities[OTHER].on
    assert set(config.lacks) == {"sandbox"}


def test_a_capability_that_this_version_does_not_have_is_off_and_says_so() -> None:
    standing = config_with().capabilities()[CapabilityName.memory]

    assert not standing.on
    assert "version" in standing.reason.en


@pytest.mark.parametrize("state", STATES)
def test_the_console_leaves_the_pages_of_what_is_off_out_of_its_navigation(
    turn: Turn, state: State
) -> None:
    turn(CapabilityName.sandbox, state)
    turn(OTHER, State.off)
    config = parse_config(MINIMAL + '[console]\nlisten = "127.0.0.1:8450"\n')

    settings = console_settings(config, None)

    assert settings is not None
    assert settings.off == {OTHER, *([CapabilityName.sandbox] if state is State.off else [])}


def test_every_judge_answers_for_the_name_under_which_it_stands() -> None:
    for name, judge in JUDGES.items():
        standing = judge(config_with())
        assert standing.name is name
        assert standing.evidence
