"""For which machine an image is: operating system, architecture, variant.

Used where a manifest is chosen from an index, and where the image's own configuration is read: an
index can be wrong, and a single manifest has none.
"""

import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from sandboxd.faults import Refused

_ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_LEVELS: Final = (
    ("v2", frozenset({"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"})),
    ("v3", frozenset({"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"})),
    ("v4", frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})),
)
"""Levels of x86-64 and the flags of /proc/cpuinfo that each adds: the psABI, section 3.1.1."""
_CPU: Final = Path("/proc/cpuinfo")


def architecture() -> str:
    """This machine's, in the words of the image specification (those of Go)."""
    return _ARCHITECTURES.get(platform.machine(), platform.machine())


def variants() -> tuple[str, ...]:
    """What this machine runs of its architecture, the plainest first; "" is one that says none."""
    if architecture() != "amd64":
        return ("", "v8")
    flags = _cpu_flags()
    held = ["", "v1"]
    for name, needed in _LEVELS:
        if not needed <= flags:
            break
        held.append(name)
    return tuple(held)


def _cpu_flags() -> frozenset[str]:
    lines = _CPU.read_text(encoding="utf-8", errors="replace").splitlines()
    return frozenset(next((x for x in lines if x.startswith("flags")), "").split())


def choose(described: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The descriptor of an index's entry that this machine takes: the plainest variant first.

    A version of the operating system (`os.version`) is Windows' matter. An entry without a platform
    is believed only where no other fits. Empty when none does.
    """
    known = list(described)
    fitting = [d for d in known if describes_this_machine(d)]
    ranked = sorted(fitting, key=lambda d: (not d.get("platform"), _rank(d)))
    return ranked[:1]


def _rank(described: dict[str, Any]) -> int:
    return variants().index(_words(described.get("platform"))[2])


def describes_this_machine(described: dict[str, Any]) -> bool:
    """Whether a descriptor fits; one that names no platform may."""
    said = described.get("platform")
    return said is None or _runs_here(*_words(said))


def require_this_machine(configuration: dict[str, Any]) -> None:
    """Looks into the image's own configuration. Raises: Refused, naming both machines."""
    os_name, wanted, variant = _words(configuration)
    if not _runs_here(os_name, wanted, variant):
        said = "/".join(word for word in (os_name or "?", wanted or "?", variant) if word)
        raise Refused(
            f"the image is for {said}, this node is linux/{architecture()}",
            remedy="pull or build the image for this machine",
        )


def _runs_here(os_name: str, wanted: str, variant: str) -> bool:
    return (os_name, wanted) == ("linux", architecture()) and variant in variants()


def _words(said: object) -> tuple[str, str, str]:
    named = said if isinstance(said, dict) else {}
    os_name, wanted, variant = (
        str(named.get(key) or "") for key in ("os", "architecture", "variant")
    )
    return os_name, wanted, variant
