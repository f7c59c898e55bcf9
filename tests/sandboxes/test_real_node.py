"""Sandboxes of the service on the real node daemon: limits, order, images, credentials, nodes."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perlica.domain.node import LossRule
from perlica.domain.sandbox import SandboxImage
from tests.behaviour.live import wait_until
from tests.sandboxd.process import Daemon
from tests.sandboxes.real import (
    NODE,
    client_of,
    delete_all,
    demo_image,
    further_daemon,
    import_second_image,
)
from tests.sandboxes.rig import Rig

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

OTHER = "node-2"
QUICK = LossRule(loss_after_s=0.5, least_looks=5, longest_gap_s=60)


@pytest.fixture
def real(daemon: Daemon, make_rig: Callable[..., Rig]) -> Iterator[Rig]:
    """A rig over the real daemon."""
    yield make_rig(backends={NODE: client_of(daemon)}, image=_image_of(daemon), look_every_s=0.1)
    delete_all(daemon)


def _image_of(daemon: Daemon) -> SandboxImage:
    held = demo_image(daemon)
    return SandboxImage(
        reference=held.reference, digest=held.digest, introduction="busybox", revision=1
    )


@pytest.mark.evidence(7)
def test_low_risk_actions_run_by_themselves_inside_the_sandbox_and_its_limits(real: Rig) -> None:
    assert "is ready" in real.create("main")

    quick = real.run("sh", "-c", "echo done; id -u")
    hungry = real.run("sh", "-c", "head -c 500000000 /dev/zero | tail -c 400000000 | wc -c")
    forking = real.run("sh", "-c", "n=0; while [ $n -lt 200 ]; do sleep 1 & n=$((n+1)); done")
    real.wait(lambda: "exit code 0" in real.run("sh", "-c", "echo | cat"))
    full = real.run("sh", "-c", "dd if=/dev/zero of=/root/big bs=1M count=600; rm /root/big")
    loud = real.run("sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")
    late = real.call("sandbox_exec", sandbox="main", argv=["sleep", "60"], timeout_s=1)
    after = real.run("echo", "still here")

    assert "done\n0" in quick
    assert "Killed" in hungry
    assert "fork" in forking or "Resource temporarily unavailable" in forking
    assert "No space left on device" in full
    assert "stdout (3000000 bytes)" in loud
    assert len(loud) < 200_000
    assert "time limit reached" in late
    assert "still here" in after
    assert real.column("SELECT DISTINCT level FROM operations WHERE action='sandbox.exec'") == [
        "low"
    ]
    assert real.column("SELECT count(*) FROM approvals") == [0]


@pytest.mark.evidence(11)
def test_a_sandbox_holds_no_credential_of_a_cluster_and_reaches_nothing(real: Rig) -> None:
    real.create("main")

    environment = real.run("env")
    found = real.run(
        "sh",
        "-c",
        "ls -d /var/run/secrets /run/secrets /root/.kube /etc/kubernetes /var/lib/kubelet 2>&1;"
        "find / -xdev -name 'kubeconfig*' -o -xdev -name '*serviceaccount*' -o -xdev -name token"
        " 2>/dev/null; true",
    )
    network = real.run("sh", "-c", "ip -o addr 2>&1; cat /proc/net/route; true")

    names = {line.split("=")[0] for line in environment.splitlines() if "=" in line}
    assert names == {"HOME", "LANG", "PATH"}
    paths = [line for line in found.splitlines() if line.startswith("/")]
    assert paths == []
    assert found.count("No such file or directory") == 5
    devices, _, routes = network.partition("Iface")
    assert {line.split()[1] for line in devices.splitlines() if line[:1].isdigit()} == {"lo"}
    assert len(routes.strip().splitlines()) == 1


@pytest.mark.evidence(13)
def test_writes_in_one_sandbox_never_interleave(real: Rig) -> None:
    real.create("main")
    real.run("sh", "-c", "echo 0 > /root/count")
    add = "n=$(cat /root/count); sleep 0.02; echo $((n+1)) > /root/count"
    faults: list[str] = []

    def raise_ten_times() -> None:
        for _ in range(10):
            said = real.run("sh", "-c", add)
            if "exit code 0" not in said:
                faults.append(said)

    threads = [threading.Thread(target=raise_ten_times) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert faults == []
    assert "30" in real.run("cat", "/root/count")


def test_lines_are_read_from_a_real_file(real: Rig) -> None:
    real.create("main")

    said = real.call(
        "sandbox_read",
        sandbox="main",
        path="/usr/share/demo/numbers",
        first_line=500,
        last_line=502,
    )

    assert said == "lines 500 to 502, more from line 503:\n500\n501\n502\n"


@pytest.mark.evidence(15)
def test_expiry_leaves_nothing_on_the_node(real: Rig, daemon: Daemon) -> None:
    real.create("main")
    real.run("sh", "-c", "echo x > /root/file")

    real.age("main", 8)
    real.wait(lambda: real.living() == [])

    assert client_of(daemon).reconcile() == ()
    assert real.column("SELECT state FROM operations WHERE action='sandbox.expire'") == [
        "succeeded"
    ]


@pytest.mark.evidence(16)
@pytest.mark.evidence(17)
def test_the_image_is_switched_on_the_real_node(
    real: Rig, daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = import_second_image(daemon, tmp_path / "second", monkeypatch)
    real.wait(lambda: second.digest in str(real.column("SELECT images FROM nodes")))
    for name in ("one", "two", "three"):
        real.create(name)

    real.order("image", action="switch", digest=second.digest)
    real.wait(lambda: real.pending() != [])
    real.approve(real.pending()[0])
    real.wait(lambda: real.column("SELECT state FROM image_switches") == ["activated"])

    assert client_of(daemon).reconcile() == ()
    made = real.create("four")
    assert second.digest in made
    assert "the second image" in real.run("cat", "/etc/second", sandbox="four")
    assert real.column("SELECT DISTINCT image_digest FROM sandboxes WHERE slot IS NOT NULL") == [
        second.digest
    ]


def test_a_node_that_is_cut_off_comes_back_and_is_installed_anew(
    daemon: Daemon, layout: Path, tmp_path: Path, make_rig: Callable[..., Rig]
) -> None:
    states = f"SELECT state FROM nodes WHERE name = '{OTHER}'"
    with further_daemon(tmp_path / "second", layout, OTHER) as second:
        rig = make_rig(
            backends={NODE: client_of(daemon), OTHER: client_of(second, OTHER)},
            image=_image_of(daemon),
            look_every_s=0.1,
            loss_rule=QUICK,
        )
        assert f"node {NODE}" in rig.create("here", node=NODE)
        assert f"node {OTHER}" in rig.create("there", node=OTHER)
        rig.run("sh", "-c", "echo kept > /root/kept", sandbox="there")

        second.kill()
        rig.wait(lambda: rig.column(states) == ["unreachable"])
        assert sorted(map(str, rig.living())) == ["here", "there"]
        second.start()
        rig.wait(lambda: rig.column(states) == ["alive"])
        assert "kept" in rig.run("cat", "/root/kept", sandbox="there")

        delete_all(second, OTHER)
        rig.wait(lambda: rig.living() == ["here"])
        assert rig.column("SELECT state FROM sandboxes WHERE name = 'there'") == ["lost"]
        assert rig.column("SELECT state FROM orphans") == ["cleared"]
        assert "is ready" in rig.create("there", node=OTHER)

        second.kill()
        rig.wait(lambda: rig.column(states) == ["unreachable"])
        rig.order("node", action="writeoff", name=OTHER)
        rig.wait(lambda: rig.pending() != [])
        rig.approve(rig.pending()[0])
        rig.wait(lambda: rig.column(states) == ["written_off"])
        assert rig.living() == ["here"]
        second.start()
        rig.wait(lambda: rig.column("SELECT 1 FROM orphans WHERE state = 'open'") == [])
        assert client_of(second, OTHER).reconcile() == ()
        rig.remove("here")


def test_the_output_of_a_running_command_shows_how_far_it_is_and_no_credential(real: Rig) -> None:
    real.create("main")
    script = (
        "echo -----BEGIN RSA PRIVATE KEY-----; n=0; while [ $n -lt 40 ]; do"
        " echo MIIEowIBAAKCAQEAu5m0hM2Qf8Yp1nUuQ2m0hM2Qf8Yp1nUuQ2m0hM2Qf8Yp1n$n; n=$((n+1)); done;"
        " echo -----END RSA PRIVATE KEY-----; sleep 2.2; echo 12 of 40 tests; sleep 2.2; echo last"
    )
    running = threading.Thread(target=lambda: real.run("sh", "-c", script))
    running.start()
    lines = "SELECT last_line FROM operation_progress"

    wait_until(lambda: real.column(lines) != [])
    first = real.column(lines)
    wait_until(lambda: real.column(lines) in (["12 of 40 tests"], []))
    second = real.column(lines)
    running.join()

    assert "MIIEow" not in str(first)
    assert second == ["12 of 40 tests"]
    assert real.column(lines) == []
