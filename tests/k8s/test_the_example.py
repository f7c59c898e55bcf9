"""The example overlay: configurations that both programs accept, with paths that are mounted."""

import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from perlica.app.config import Config, parse_config
from perlica.app.secrets import SecretInvalid, read_secret
from sandboxd.config import Config as NodeConfig
from sandboxd.config import load_config as load_node_config
from tests.app.configs import filled_in
from tests.k8s.conftest import Find
from tests.k8s.pod_security import Manifest, containers_of, pod_of

SERVICE_USER = 10001


@pytest.fixture
def config(find: Find) -> Config:
    return parse_config(filled_in(find("ConfigMap", "perlica-config")["data"]["perlica.toml"]))


@pytest.fixture
def node(find: Find, tmp_path: Path) -> NodeConfig:
    text = find("ConfigMap", "sandboxd-config")["data"]["sandboxd.toml"]
    file = tmp_path / "sandboxd.toml"
    file.write_text(text)
    return load_node_config(file, {})


def mount_of(find: Find, kind: str, name: str, path: Path) -> tuple[Manifest, dict[str, Any]]:
    """The mount that a path lies in, and its volume."""
    pod = pod_of(find(kind, name))
    assert pod is not None
    (container,) = containers_of(pod)
    around = [
        it
        for it in container["volumeMounts"]
        if PurePosixPath(path).is_relative_to(it["mountPath"])
    ]
    mount = max(around, key=lambda it: len(it["mountPath"]))
    (volume,) = (it for it in pod["volumes"] if it["name"] == mount["name"])
    return mount, volume


def test_the_configuration_is_read_from_where_it_is_mounted(find: Find) -> None:
    pod = pod_of(find("Deployment", "perlica"))
    assert pod is not None
    (container,) = containers_of(pod)
    path = Path(container["args"][container["args"].index("--config") + 1])
    _, volume = mount_of(find, "Deployment", "perlica", path)

    assert path.name in find("ConfigMap", "perlica-config")["data"]
    assert volume["configMap"]["name"] == find("ConfigMap", "perlica-config")["metadata"]["name"]


def test_the_database_lies_on_the_volume_that_lasts(find: Find, config: Config) -> None:
    mount, volume = mount_of(find, "Deployment", "perlica", config.service.state_dir)

    assert volume["persistentVolumeClaim"]["claimName"] == "perlica-state"
    # A directory of its own inside: the volume's root gets the group's bits from fsGroup.
    assert config.service.state_dir != Path(mount["mountPath"])


def test_the_secrets_are_those_that_are_mounted(find: Find, config: Config) -> None:
    for path in (config.napcat.token_file, config.model.key_file):
        assert path is not None
        mount, volume = mount_of(find, "Deployment", "perlica", path)

        assert Path(mount["mountPath"]) == path.parent
        assert path.name in {item["path"] for item in volume["secret"]["items"]}


def test_the_service_reaches_the_daemon_through_the_local_volume(
    find: Find, config: Config, node: NodeConfig
) -> None:
    assert config.sandbox is not None
    mount, volume = mount_of(find, "Deployment", "perlica", config.sandbox.socket)
    claim = find("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
    disk = find("PersistentVolume", claim["spec"]["volumeName"])
    node_mount, node_volume = mount_of(find, "DaemonSet", "sandboxd", node.socket)

    assert mount["readOnly"] is True
    assert volume["persistentVolumeClaim"]["readOnly"] is True
    assert disk["spec"]["local"]["path"] == node_volume["hostPath"]["path"]
    inside = config.sandbox.socket.relative_to(mount["mountPath"])
    assert inside == node.socket.relative_to(node_mount["mountPath"])


def test_both_programs_and_the_volume_mean_the_same_node(
    find: Find, config: Config, node: NodeConfig
) -> None:
    disk = find("PersistentVolume", "perlica-sandboxd-socket")
    (term,) = disk["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]

    assert config.sandbox is not None
    assert expression["values"] == [config.sandbox.node] == [node.node]


def test_the_daemon_lets_in_root_and_the_service(node: NodeConfig) -> None:
    assert set(node.allowed_uids) == {0, SERVICE_USER}
    assert node.socket_gid == SERVICE_USER


def test_what_the_daemon_keeps_lies_on_the_node_and_its_outputs_in_memory(
    find: Find, node: NodeConfig
) -> None:
    _, state = mount_of(find, "DaemonSet", "sandboxd", node.state_dir)
    _, run = mount_of(find, "DaemonSet", "sandboxd", node.run_dir)

    assert state["hostPath"]["type"] == "DirectoryOrCreate"
    assert run["emptyDir"]["medium"] == "Memory"


def test_the_probes_ask_the_port_that_the_service_listens_on(find: Find, config: Config) -> None:
    pod = pod_of(find("Deployment", "perlica"))
    assert pod is not None
    (container,) = containers_of(pod)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}

    assert config.health.listen == f"0.0.0.0:{ports['health']}"


def test_the_daemons_probe_asks_its_socket(find: Find) -> None:
    text = find("ConfigMap", "sandboxd-config")["data"]["sandboxd.toml"]
    pod = pod_of(find("DaemonSet", "sandboxd"))
    assert pod is not None
    (container,) = containers_of(pod)

    assert container["livenessProbe"]["exec"]["command"][-1] == tomllib.loads(text)["socket"]


@pytest.fixture
def secret_volume() -> Iterator[Path]:
    """A Secret's volume as the kubelet makes it: a tmpfs, links into ..data, root's files."""
    with TemporaryDirectory(prefix="perlica-secrets-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", name], check=True)
        try:
            data = folder / "..2026_11_30"
            data.mkdir()
            (data / "napcat-token").write_text("a-long-token-for-napcat")
            os.chown(data / "napcat-token", 0, SERVICE_USER)
            (folder / "..data").symlink_to(data.name)
            (folder / "napcat-token").symlink_to("..data/napcat-token")
            yield folder
        finally:
            subprocess.run(["umount", name], check=True)


@pytest.mark.root
@pytest.mark.parametrize(("mode", "is_read"), [(0o440, True), (0o444, False), (0o460, False)])
def test_the_mode_of_the_manifests_is_the_one_that_the_service_accepts(
    secret_volume: Path, mode: int, *, is_read: bool
) -> None:
    (secret_volume / "..data" / "napcat-token").chmod(mode)

    assert _reads_as_service(secret_volume / "napcat-token") is is_read


def _reads_as_service(path: Path) -> bool:
    os.setegid(SERVICE_USER)
    os.seteuid(SERVICE_USER)
    try:
        read_secret(path, key="napcat.token_file")
        return True
    except SecretInvalid:
        return False
    finally:
        os.seteuid(0)
        os.setegid(0)
