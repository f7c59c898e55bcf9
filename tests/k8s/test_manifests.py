"""The rendered manifests: right by the cluster's own schemas, and closed where they can be."""

from collections.abc import Iterator, Sequence

import kubernetes_validate
import pytest
import yaml

from tests.frame.checkout import ROOT
from tests.k8s.conftest import Find, Strict
from tests.k8s.pod_security import Manifest, containers_of, pod_of

VERSIONS = ("1.30", "1.32", kubernetes_validate.latest_version())
SERVICE_USER = 10001


def workloads(rendered: Sequence[Manifest]) -> Iterator[tuple[str, Manifest]]:
    for manifest in rendered:
        pod = pod_of(manifest)
        if pod is not None:
            yield f"{manifest['kind']}/{manifest['metadata']['name']}", pod


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_is_right_by_the_schema_of_its_kind(
    rendered: Sequence[Manifest], version: str
) -> None:
    for manifest in rendered:
        # Raises for a typo, a wrong type, and also for a kind that is not known.
        kubernetes_validate.validate(manifest, version, strict=True)


def test_no_key_stands_twice_in_any_file() -> None:
    files = sorted((ROOT / "k8s").rglob("*.yaml"))
    for file in files:
        assert list(yaml.load_all(file.read_text("utf-8"), Strict)), file
    assert len(files) > 10


def test_what_runs_is_these_three(rendered: Sequence[Manifest]) -> None:
    assert {name for name, _ in workloads(rendered)} == {
        "Deployment/perlica",
        "CronJob/perlica-backup",
        "DaemonSet/sandboxd",
    }


def test_there_is_one_service_and_never_two_at_once(find: Find) -> None:
    spec = find("Deployment", "perlica")["spec"]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "Recreate"}


def test_images_are_named_by_digest(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        for container in containers_of(pod):
            assert "@sha256:" in container["image"], name
            assert ":" not in container["image"].split("@")[0], name


def test_every_container_has_limits_for_all_it_could_use_up(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        for container in containers_of(pod):
            for part in ("requests", "limits"):
                named = set(container["resources"][part])
                assert named == {"cpu", "memory", "ephemeral-storage"}, (name, part)


def test_every_volume_in_memory_has_a_size(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        for volume in pod["volumes"]:
            if "emptyDir" in volume:
                assert volume["emptyDir"].get("sizeLimit"), (name, volume["name"])


def test_no_root_file_system_can_be_written(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        for container in containers_of(pod):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True, name


def test_what_stays_up_has_all_three_probes_with_time_limits(find: Find) -> None:
    for kind, name in (("Deployment", "perlica"), ("DaemonSet", "sandboxd")):
        pod = pod_of(find(kind, name))
        assert pod is not None
        (container,) = containers_of(pod)
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            assert container[probe]["timeoutSeconds"] <= 5, (name, probe)


def test_liveness_does_not_ask_for_napcat(find: Find) -> None:
    pod = pod_of(find("Deployment", "perlica"))
    assert pod is not None
    (container,) = containers_of(pod)
    paths = {name: container[name]["httpGet"]["path"] for name in container if "Probe" in name}

    assert paths == {
        "startupProbe": "/healthz",
        "livenessProbe": "/healthz",
        "readinessProbe": "/readyz",
    }


def test_the_service_runs_as_a_number_that_is_not_root(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        if name == "DaemonSet/sandboxd":
            continue
        context = pod["securityContext"]
        ids = {context[key] for key in ("runAsUser", "runAsGroup", "fsGroup")}
        assert ids == {SERVICE_USER}, name
        # `Always` would open the files of the database to the group at each start.
        assert context["fsGroupChangePolicy"] == "OnRootMismatch", name


def test_nobody_gets_a_token_of_the_cluster(rendered: Sequence[Manifest]) -> None:
    for name, pod in workloads(rendered):
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["serviceAccountName"] in {"perlica", "sandboxd"}, name
        assert all("projected" not in volume for volume in pod["volumes"]), name
    accounts = [it for it in rendered if it["kind"] == "ServiceAccount"]
    assert len(accounts) == 4
    assert all(account["automountServiceAccountToken"] is False for account in accounts)


def test_nobody_has_any_right_in_the_cluster(rendered: Sequence[Manifest]) -> None:
    kinds = {manifest["kind"] for manifest in rendered}

    assert not {kind for kind in kinds if "Role" in kind}


def test_no_secret_stands_in_the_manifests(rendered: Sequence[Manifest]) -> None:
    assert all(manifest["kind"] != "Secret" for manifest in rendered)
    for name, pod in workloads(rendered):
        for container in containers_of(pod):
            assert not container.get("env"), name
            assert not container.get("envFrom"), name


def test_only_the_service_sees_secrets_and_only_the_two_it_needs(
    rendered: Sequence[Manifest],
) -> None:
    mounted = {}
    for name, pod in workloads(rendered):
        for volume in pod["volumes"]:
            if "secret" in volume:
                mounted[name] = volume
    (volume,) = mounted.values()
    (container,) = containers_of(dict(workloads(rendered))["Deployment/perlica"])
    (mount,) = (it for it in container["volumeMounts"] if it["name"] == volume["name"])

    assert set(mounted) == {"Deployment/perlica"}
    assert {item["key"] for item in volume["secret"]["items"]} == {"napcat-token", "model-key"}
    assert volume["secret"]["defaultMode"] == 0o440
    assert mount["readOnly"] is True


def test_the_backup_runs_beside_the_service_and_one_at_a_time(find: Find) -> None:
    cron = find("CronJob", "perlica-backup")
    pod = pod_of(cron)
    assert pod is not None
    (term,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    service = find("Deployment", "perlica")["spec"]["template"]["metadata"]["labels"]

    assert cron["spec"]["concurrencyPolicy"] == "Forbid"
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"].items() <= service.items()
