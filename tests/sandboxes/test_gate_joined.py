"""The gate's report and the service: what it switches on, and what it keeps off, node by node."""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perlica.app import parts
from perlica.app.capabilities import sandbox_checks
from perlica.app.capabilities.gate_report import admission, read_report
from perlica.app.config import Config, parse_config
from perlica.app.demo.layout import DemoPaths
from perlica.app.demo.stage import Stage
from perlica.app.doctor.findings import Finding, Level
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Misconfigured
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import Command, SandboxSpec
from perlica.domain.texts import Language
from tests.app.configs import MINIMAL, SANDBOX, SOCKET
from tests.gate.conftest import facts, write_report
from tests.sandboxd.conftest import needs_node
from tests.sandboxd.process import Daemon
from tests.sandboxes.real import NODE, client_of, delete_all, demo_image
from tests.sandboxes.test_tree import LIMITS

__all__ = ["facts", "needs_node", "write_report"]

ANSWER_WITHIN_S = 45.0
WriteReport = Callable[..., Path]


def config_of(report: Path | None, socket: Path, *, demo: bool = False) -> Config:
    text = MINIMAL + SANDBOX.replace(SOCKET, str(socket))
    text = text.replace('node = "node-1"', f'node = "{NODE}"')
    if report is not None:
        text = text.replace("[sandbox]", f'[sandbox]\ngate_report = "{report}"')
    if demo:
        text = text.replace("[napcat]", "demo = true\n[napcat]")
    return parse_config(text)


@pytest.fixture
def report_on(daemon: Daemon, write_report: WriteReport) -> Callable[..., Path]:
    """A report that speaks for the daemon that runs, but for what is turned."""

    def write(**turned: Any) -> Path:
        return write_report(turned=facts_of(client_of(daemon)) | turned)

    return write


def facts_of(client: SandboxdClient) -> dict[str, str]:
    """What a report says of a node that is as this one."""
    health = client.health()
    assert health.facts.file_system
    assert health.facts.configuration
    assert health.facts.code
    return {
        "kernel": health.facts.kernel,
        "runtime": health.facts.runtime,
        "runtime_version": health.facts.runtime_version,
        "cgroup_mode": health.facts.cgroup_mode,
        "sandboxd": health.version,
        "file_system": health.facts.file_system,
        "configuration": health.facts.configuration,
        "code": health.facts.code,
    }


def gate_finding(config: Config) -> Finding:
    (found,) = sandbox_checks.check_gate(config)
    return found


@pytest.mark.evidence(18)
def test_a_report_that_speaks_for_the_node_ends_the_demo_mode(
    daemon: Daemon, report_on: Callable[..., Path]
) -> None:
    config = config_of(report_on(), daemon.socket)

    (capability,) = parts.compare_nodes(config, may_be_silent=True).capabilities()

    assert capability.on
    assert not capability.experimental
    assert gate_finding(config).level is Level.ok


@pytest.mark.evidence(18)
@pytest.mark.parametrize(
    "fact", ["kernel", "runtime_version", "file_system", "configuration", "code"]
)
def test_a_node_that_is_not_as_reported_keeps_them_off_and_the_doctor_says_what(
    daemon: Daemon, report_on: Callable[..., Path], fact: str
) -> None:
    config = config_of(report_on(**{fact: "other"}), daemon.socket)

    (capability,) = parts.compare_nodes(config, may_be_silent=True).capabilities()

    assert not capability.on
    assert fact in capability.reason.say(Language.en)
    assert "make gate-full" in capability.remedy.say(Language.en)
    assert gate_finding(config).code == "gate_refused"


@pytest.mark.evidence(18)
def test_in_demo_mode_a_report_of_another_node_leaves_them_experimental(
    daemon: Daemon, report_on: Callable[..., Path]
) -> None:
    config = config_of(report_on(kernel="other"), daemon.socket, demo=True)

    (capability,) = parts.compare_nodes(config, may_be_silent=True).capabilities()

    assert capability.on
    assert capability.experimental


@pytest.mark.evidence(18)
def test_a_report_with_a_red_line_keeps_them_off_before_any_node_is_asked(
    write_report: WriteReport, tmp_path: Path
) -> None:
    config = config_of(write_report(without="power.cuts"), tmp_path / "nobody.sock")

    (capability,) = config.capabilities()

    assert not capability.on
    assert "power.cuts" in capability.reason.say(Language.zh)


@pytest.mark.evidence(18)
def test_a_report_that_is_no_file_keeps_them_off(tmp_path: Path) -> None:
    (capability,) = config_of(tmp_path / "none.json", tmp_path / "nobody.sock").capabilities()

    assert not capability.on
    assert "cannot be read" in capability.reason.say(Language.en)


@pytest.mark.evidence(18)
def test_a_node_that_is_silent_at_the_start_is_compared_before_its_first_use(
    write_report: WriteReport, tmp_path: Path
) -> None:
    config = config_of(write_report(), tmp_path / "nobody.sock")

    (capability,) = parts.compare_nodes(config, may_be_silent=True).capabilities()

    assert capability.on
    assert "before it is used" in capability.reason.say(Language.en)
    assert gate_finding(config).level is Level.error


@pytest.mark.evidence(18)
def test_nothing_runs_on_a_node_that_has_changed_but_clean_up_does(
    daemon: Daemon, report_on: Callable[..., Path]
) -> None:
    plain = client_of(daemon)
    spec = SandboxSpec(name=SandboxName("box"), purpose="", node=NODE, limits=LIMITS)
    box = plain.create(new_operation_id(), spec, demo_image(daemon).digest)
    admit = admission(read_report(report_on(configuration="other")))
    settings = SandboxdSettings(socket_path=daemon.socket, epoch=1, node=NODE, admit=admit)
    wary = SandboxdClient(settings)
    another = dataclasses.replace(spec, name=SandboxName("other"))

    with pytest.raises(Misconfigured, match="configuration"):
        wary.create(new_operation_id(), another, box.image_digest)
    with pytest.raises(Misconfigured, match="configuration"):
        wary.execute(
            new_operation_id(),
            name=box.name,
            instance=box.instance,
            action=Command(argv=("true",), within_ms=1000),
            cancel=CancelToken(),
        )
    wary.delete(new_operation_id(), box.name, box.instance)

    assert plain.reconcile() == ()
    delete_all(daemon)


@pytest.mark.evidence(18)
def test_a_node_as_reported_is_used(daemon: Daemon, report_on: Callable[..., Path]) -> None:
    admit = admission(read_report(report_on()))
    settings = SandboxdSettings(socket_path=daemon.socket, epoch=1, node=NODE, admit=admit)
    client = SandboxdClient(settings)
    spec = SandboxSpec(name=SandboxName("box"), purpose="", node=NODE, limits=LIMITS)

    box = client.create(new_operation_id(), spec, demo_image(daemon).digest)

    assert box.instance
    client.delete(new_operation_id(), box.name, box.instance)


@dataclasses.dataclass(slots=True, kw_only=True)
class GatedStage(Stage):
    """The demo's parts with a service that is in no demo mode and has a report."""

    write_report: WriteReport
    turned: dict[str, str]

    def start_perlica(self) -> None:
        """As the demo does, with the report of the node that runs, but for what is turned."""
        client = SandboxdClient(SandboxdSettings(socket_path=self.paths.socket, epoch=0))
        report = self.write_report(turned=facts_of(client) | self.turned)
        text = self.paths.config.read_text("utf-8").replace("demo = true\n", "")
        text = text.replace("\n[sandbox]\n", f'\n[sandbox]\ngate_report = "{report}"\n')
        self.paths.config.write_text(text, encoding="utf-8")
        Stage.start_perlica(self)


@pytest.fixture
def ask_service(
    needs_node: None, tmp_path: Path, write_report: WriteReport
) -> Iterator[Callable[..., str]]:
    """A member's question to a whole service, and its answer."""
    stages: list[GatedStage] = []

    def ask(text: str, wanted: str, **turned: str) -> str:
        paths = DemoPaths(root=tmp_path / "demo")
        stage = GatedStage(
            paths=paths, with_sandboxes=True, write_report=write_report, turned=turned
        )
        stages.append(stage)
        stage.start()
        members = stage.napcat.kernel.account.groups[0].members
        owner = next(m.user_id for m in members if m.standing == "owner")
        asked = stage.napcat.say(owner, text, mention=not text.startswith("."))
        return stage.napcat.wait_for_reply(
            lambda m: wanted in m.text, ANSWER_WITHIN_S, after=asked
        ).text

    yield ask
    for stage in stages:
        stage.stop()


@pytest.mark.evidence(18)
@pytest.mark.root
def test_a_service_outside_of_demo_mode_runs_commands_with_a_report_of_its_node(
    ask_service: Callable[..., str],
) -> None:
    assert "成功" in ask_service("运行 `echo abc | rev`", "cba")


@pytest.mark.evidence(18)
@pytest.mark.root
def test_a_service_with_a_report_of_another_node_says_in_its_status_what_differs(
    ask_service: Callable[..., str],
) -> None:
    status = ask_service(".status", "", kernel="6.0.0-other")

    assert "闸门报告与节点" in status
    assert "kernel" in status
