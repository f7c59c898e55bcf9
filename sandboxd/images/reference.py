"""Names of images in registries: which one, and on which allowed registry."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sandboxd.config import Registry
from sandboxd.faults import Refused

_REFERENCE = re.compile(
    r"(?P<registry>[a-z0-9.-]{1,253}(:[0-9]{1,5})?)"
    r"/(?P<repository>[a-z0-9]+([._/-]+[a-z0-9]+)*)"
    r"@(?P<digest>sha256:[0-9a-f]{64})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """`registry/repository@digest`; a tag would name something else tomorrow."""

    registry: str
    repository: str
    digest: str

    def __str__(self) -> str:
        return f"{self.registry}/{self.repository}@{self.digest}"


def parse_reference(text: str) -> Reference:
    """Raises: Refused."""
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise Refused(
            "not the name of one image", remedy="name it as REGISTRY/REPOSITORY@sha256:DIGEST"
        )
    return Reference(
        registry=match["registry"], repository=match["repository"], digest=match["digest"]
    )


def find_registry(reference: Reference, allowed: Iterable[Registry]) -> Registry:
    """The configuration of the registry. Raises: Refused when it is not an allowed one."""
    for registry in allowed:
        if registry.host == reference.registry:
            return registry
    raise Refused(
        f"images from {reference.registry} are not let in",
        remedy="add it as [[registries]] to the configuration",
    )
