"""Pod Security: the service keeps to "restricted"; the node daemon's exceptions are recorded."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from tests.frame.checkout import read_tree_file
from tests.k8s.pod_security import Manifest, Violation, find_violations, pod_of

WORDS = {"reason", "compensation"}
RESTRICTED = {
    "securityContext": {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
    "containers": [
        {
            "name": "one",
            "image": "x",
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            },
        }
    ],
}


def recorded() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load(read_tree_file("k8s/psa-exceptions.yaml"))[
        "exceptions"
    ]
    return entries


def test_the_recorded_exceptions_are_all_there_are(rendered: Sequence[Manifest]) -> None:
    entries = [
        Violation(**{key: value for key, value in entry.items() if key not in WORDS})
        for entry in recorded()
    ]

    assert [it for it, times in Counter(entries).items() if times > 1] == []
    assert set(entries) == find_violations(rendered)


def test_each_exception_says_why_and_what_takes_its_place() -> None:
    for entry in recorded():
        assert len(entry["reason"]) > 10, entry
        assert len(entry["compensation"]) > 5, entry


def test_the_namespace_of_the_service_enforces_restricted(rendered: Sequence[Manifest]) -> None:
    labels = {
        it["metadata"]["name"]: it["metadata"]["labels"]
        for it in rendered
        if it["kind"] == "Namespace"
    }
    mode = "pod-security.kubernetes.io/"

    assert labels["perlica"][f"{mode}enforce"] == "restricted"
    assert labels["perlica-node"][f"{mode}enforce"] == "privileged"
    for named in labels.values():
        assert named[f"{mode}audit"] == named[f"{mode}warn"] == "restricted"
        assert {key for key in named if key.endswith("-version")} == {
            f"{mode}{it}-version" for it in ("enforce", "audit", "warn")
        }


def test_the_privileged_namespace_holds_the_daemon_alone(rendered: Sequence[Manifest]) -> None:
    there = {
        it["metadata"]["name"]
        for it in rendered
        if it["metadata"].get("namespace") == "perlica-node" and pod_of(it) is not None
    }

    assert there == {"sandboxd"}


def test_the_judge_passes_a_pod_that_is_restricted() -> None:
    assert find_violations([_pod({})]) == frozenset()


@pytest.mark.parametrize(
    ("change", "field", "level"),
    [
        ({"hostPID": True}, "hostPID", "privileged"),
        ({"volumes": [{"name": "v", "nfs": {}}]}, "volumes.v.nfs", "baseline"),
        (
            {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
            "volumes.v.hostPath",
            "privileged",
        ),
        ({"securityContext": {}}, "securityContext.runAsNonRoot", "baseline"),
        ({"securityContext": {}}, "securityContext.seccompProfile.type", "baseline"),
        ({"securityContext": {"runAsUser": 0}}, "securityContext.runAsUser", "baseline"),
        (
            {"securityContext": {"sysctls": [{"name": "kernel.msgmax"}]}},
            "securityContext.sysctls",
            "privileged",
        ),
        (
            {"containers": [{"name": "one", "ports": [{"hostPort": 80}]}]},
            "ports.hostPort",
            "privileged",
        ),
        (
            {"initContainers": [{"name": "first"}]},
            "securityContext.capabilities.drop",
            "baseline",
        ),
        (
            {
                "containers": [
                    {"name": "one", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
                ]
            },
            "securityContext.capabilities.add",
            "privileged",
        ),
        (
            {"containers": [{"name": "one", "livenessProbe": {"httpGet": {"host": "h"}}}]},
            "livenessProbe.httpGet.host",
            "privileged",
        ),
    ],
)
def test_the_judge_sees_what_is_not_restricted(
    change: dict[str, object], field: str, level: str
) -> None:
    found = find_violations([_pod(change)])

    assert (field, level) in {(it.field, it.level) for it in found}


def _pod(change: dict[str, object]) -> Manifest:
    metadata = {"name": "p", "namespace": "n"}
    return {"kind": "Pod", "metadata": metadata, "spec": {**RESTRICTED, **change}}
