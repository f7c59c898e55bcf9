"""The parts of the node that every sandbox uses, made once at the start."""

import os
import platform
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sandboxd import _native
from sandboxd.config import Config
from sandboxd.identity import code_digest, configuration_digest, filesystem_of
from sandboxd.images.catalog import Catalog, ImageMounts
from sandboxd.kernel.cgroups import CgroupMode, ControlGroups
from sandboxd.kernel.children import CHILDREN
from sandboxd.kernel.confinement import Room
from sandboxd.kernel.loops import LoopDevices
from sandboxd.kernel.steps import IDMAPPED_LAYERS_SINCE
from sandboxd.runtime.container import OciRuntime
from sandboxd.storage.records import Records
from sandboxd.storage.state_files import node_id
from sandboxd.wire import NodeFacts

_VERSION_WITHIN_S = 10.0


def now_ms() -> int:
    """Wall time in milliseconds UTC."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Shared by all sandboxes. `mounting` serialises container starts and unmounts: a starting
    container briefly holds a copy of every mount of the daemon, which would keep disks busy.
    """

    config: Config
    identity: str
    facts: NodeFacts
    room: Room
    records: Records
    loops: LoopDevices
    catalog: Catalog
    images: ImageMounts
    runtime: OciRuntime
    cgroups: ControlGroups
    mounting: threading.RLock
    clock_ms: Callable[[], int] = now_ms


def build_node(config: Config, room: Room, mode: CgroupMode) -> Node:
    """Makes the parts. Raises: Misconfigured when a program is missing or a record is damaged."""
    loops = LoopDevices(host_devices=room.host_devices)
    catalog = Catalog(config.state_dir / "images")
    catalog.list()  # A damaged record stops the start, not every question about health later.
    own = node_id(config.state_dir)
    return Node(
        config=config,
        identity=own,
        facts=find_facts(config, room, mode),
        room=room,
        records=Records(config.state_dir / "sandboxes"),
        loops=loops,
        catalog=catalog,
        images=ImageMounts(catalog, loops),
        runtime=OciRuntime(program=config.runtime, state=config.run_dir / "runtime"),
        cgroups=ControlGroups(mode=mode, parent=f"{config.cgroup_parent}/{own}"),
        mounting=threading.RLock(),
    )


def find_facts(config: Config, room: Room, mode: CgroupMode) -> NodeFacts:
    """Asks kernel and runtime what they can do. Raises: Misconfigured when a program is missing."""
    said = CHILDREN.run((config.runtime, "--version"), within_s=_VERSION_WITHIN_S)
    version = re.search(rb"version (\S+)", said.stdout)
    return NodeFacts(
        kernel=platform.release(),
        runtime=Path(config.runtime).name,
        runtime_version=version.group(1).decode("ascii", "replace") if version else "unknown",
        cgroup_mode=mode,
        idmapped_layers=kernel_version() >= IDMAPPED_LAYERS_SINCE,
        layers_by_descriptor=not config.layers_by_path and takes_layers_by_descriptor(),
        outputs_survive_restart=room.outputs_survive_restart,
        file_system=filesystem_of(config.state_dir),
        configuration=configuration_digest(config),
        code=code_digest(),
    )


def kernel_version() -> tuple[int, int]:
    """Major and minor number of the running kernel."""
    major, minor = re.findall(r"\d+", platform.release())[:2]
    return int(major), int(minor)


def takes_layers_by_descriptor() -> bool:
    """Whether overlayfs accepts `lowerdir+` with an open descriptor."""
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        context = _native.fsopen("overlay")
        try:
            _native.fsconfig_fd(context, "lowerdir+", root)
        finally:
            os.close(context)
    except _native.StepError:
        return False
    finally:
        os.close(root)
    return True
