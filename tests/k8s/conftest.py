"""The manifests as a cluster would get them: the example overlay, rendered by kustomize."""

import subprocess
from collections.abc import Callable, Sequence

import pytest
import yaml

from tests.conftest import IN_CI
from tests.frame.checkout import ROOT
from tests.k8s.kubectl import NoKubectl, find_kubectl
from tests.k8s.pod_security import Manifest

EXAMPLE = ROOT / "k8s" / "example"
Find = Callable[[str, str], Manifest]


class Strict(yaml.SafeLoader):
    """Refuses a key that stands twice, which YAML readers otherwise pass over."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"twice: {twice}", node.start_mark)
        return super().construct_mapping(node, deep)


@pytest.fixture(scope="session")
def rendered() -> Sequence[Manifest]:
    """Every object of the example overlay."""
    try:
        kubectl = find_kubectl()
    except NoKubectl as error:
        if IN_CI:
            raise
        pytest.skip(f"needs kubectl: {error}")
    done = subprocess.run(
        [kubectl, "kustomize", str(EXAMPLE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "deprecated" not in done.stderr.lower()
    return [manifest for manifest in yaml.load_all(done.stdout, Strict) if manifest]


@pytest.fixture(scope="session")
def find(rendered: Sequence[Manifest]) -> Find:
    """The one object of a kind and name; the suffix of generated names may be left out."""

    def search(kind: str, name: str) -> Manifest:
        (found,) = (
            manifest
            for manifest in rendered
            if manifest["kind"] == kind
            and (
                manifest["metadata"]["name"] == name
                or (kind == "ConfigMap" and manifest["metadata"]["name"].startswith(f"{name}-"))
            )
        )
        return found

    return search
