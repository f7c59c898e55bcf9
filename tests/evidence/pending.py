"""Reads tests/evidence-pending.toml: items that nothing, or not everything, shows, and actions of
the policy that nothing plans yet.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perlica.app.capabilities.standing import CapabilityName
from tests.evidence.items import ITEMS

RUN: Final = "run"
"""What an item waits for that no capability brings: a run of the whole somewhere real."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPoint:
    """What an item still lacks, and the capabilities that will bring it; none of them: a `run`."""

    number: int
    lacks: str
    capabilities: tuple[CapabilityName, ...]


class PendingFileWrong(Exception):
    """The file is not what it should be; the text says where."""


def read_pending(path: Path) -> dict[int, OpenPoint]:
    """Return the open points by item number.

    Raises:
        PendingFileWrong: unknown keys, an unknown or repeated item, or an empty reason.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PendingFileWrong(f"{path}: {error}") from error
    points: dict[int, OpenPoint] = {}
    for entry in document.get("item", []):
        point = _read_point(entry, path)
        if point.number in points:
            raise PendingFileWrong(f"{path}: item {point.number} stands there twice")
        points[point.number] = point
    return points


def read_pending_actions(path: Path) -> dict[str, CapabilityName]:
    """Return the capability that will bring it, by the name of each action that nothing plans yet.

    Raises:
        PendingFileWrong: as `read_pending`.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise PendingFileWrong(f"{path}: {error}") from error
    actions: dict[str, CapabilityName] = {}
    for entry in document.get("action", []):
        name, capability = entry.get("name"), entry.get("capability")
        if set(entry) != {"name", "capability"} or not name or not capability:
            raise PendingFileWrong(f"{path}: an action needs name and capability; got {entry}")
        if name in actions:
            raise PendingFileWrong(f"{path}: action {name} stands there twice")
        actions[name] = _read_capability(capability, path)
    return actions


def _read_point(entry: dict[str, object], path: Path) -> OpenPoint:
    if set(entry) != {"number", "lacks", "capability"}:
        raise PendingFileWrong(f"{path}: an item needs number, lacks and capability; got {entry}")
    number, lacks, capability = entry["number"], entry["lacks"], entry["capability"]
    if not isinstance(number, int) or number not in {item.number for item in ITEMS}:
        raise PendingFileWrong(f"{path}: there is no acceptance item {number!r}")
    if not (isinstance(lacks, str) and lacks.strip()):
        raise PendingFileWrong(f"{path}: item {number} does not say what it lacks")
    if not (isinstance(capability, str) and capability.strip()):
        raise PendingFileWrong(f"{path}: item {number} does not name the capability")
    names = [name.strip() for name in capability.split(",")]
    known = () if names == [RUN] else tuple(_read_capability(name, path) for name in names)
    return OpenPoint(number=number, lacks=lacks, capabilities=known)


def _read_capability(name: str, path: Path) -> CapabilityName:
    try:
        return CapabilityName(name)
    except ValueError:
        known = ", ".join(CapabilityName)
        raise PendingFileWrong(
            f"{path}: there is no capability {name!r}; the names are {known} ({RUN} for a run)"
        ) from None
