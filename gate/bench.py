"""What every check works on: one node with the gate's image, programs, and how deep to go.

Opening it builds and imports the image; closing it ends everything and says what was left behind.
"""

import contextlib
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gate.lines import Broken
from gate.rig.chamber import run_in_chamber
from gate.rig.client import Sandbox
from gate.rig.image import build_gate_image
from gate.rig.node import Node, Program
from gate.rig.programs import build_program
from gate.rig.stack import Stack, open_stack
from sandboxd.config import Config
from sandboxd.images.demo import build_demo_layout

_MEMORY = Path("/dev/shm")  # noqa: S108 (the tmpfs of the node)


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How often and how much. `flush_steps` is what the writer acknowledges on the logging disk."""

    name: str
    cuts: int
    flush_points: int
    flush_steps: int
    output_mib: int
    zombies: int
    within_s: float
    machine_cuts: int = 0
    """How many guests are killed under QEMU; 0: that is not tried."""

    def with_cuts(self, cuts: int | None) -> "Depth":
        """Another number of power cuts. Fewer are less than what the name stands for."""
        if cuts is None:
            return self
        name = self.name if cuts >= self.cuts else f"{self.name}-shortened"
        return replace(self, cuts=cuts, name=name)


QUICK = Depth(
    name="gate",
    cuts=20,
    flush_points=12,
    flush_steps=300,
    output_mib=10 * 1024,
    zombies=100_000,
    within_s=240.0,
)
FULL = Depth(
    name="gate-full",
    cuts=200,
    flush_points=100,
    flush_steps=1500,
    output_mib=10 * 1024,
    zombies=100_000,
    within_s=3000.0,
    machine_cuts=4,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """`home` lies on the file system that is judged; `digest` names the gate's image on `node`."""

    home: Path
    config: Config
    program: Program
    depth: Depth
    node: Node
    digest: str
    kernels: Path
    """Where a guest's kernel is looked for: in boot/ and lib/modules/ below it."""

    @contextlib.contextmanager
    def sandbox(self, name: str = "judged", **limits: int) -> Iterator[Sandbox]:
        """A fresh sandbox for the block."""
        with self.node.sandbox(name, self.digest, limits=limits) as sandbox:
            yield sandbox

    @contextlib.contextmanager
    def side_node(self, more: str = "") -> Iterator[tuple[Node, str]]:
        """Another node with the demonstration image, and that image's digest. Not started yet.

        `more` is put at the end of its settings.

        Raises: Broken when it does not start.
        """
        name = f"side-{uuid.uuid4().hex[:6]}"
        node = Node(self.home, self.config, self.program, name=name, more=more)
        try:
            layout = node.home / "layout"
            digest = build_demo_layout(layout)
            import_image(node, layout)
            yield node, digest
        finally:
            left = node.remove()
        if left:
            raise Broken(f"a node left behind: {', '.join(left)}")

    def place_program(self, sandbox: Sandbox, name: str) -> str:
        """Builds a program and puts it into a sandbox. Returns its path there."""
        program = build_program(name, self.home)
        sandbox.write(f"/root/{name}", program.read_bytes(), mode=0o755)
        return f"/root/{name}"

    def in_chamber(
        self, work: Callable[[Stack], Any], *, within_s: float, in_memory: bool = False
    ) -> Any:  # noqa: ANN401 (JSON)
        """Runs `work` on root file systems without a container; their disks lie in `home`."""
        place = (_MEMORY if in_memory else self.home) / f"{self.home.name}-{uuid.uuid4().hex[:6]}"
        place.mkdir(mode=0o711)
        images = self.node.state / "images"
        try:
            return run_in_chamber(
                lambda: work(open_stack(place, images, self.digest, self.config)),
                within_s=within_s,
            )
        finally:
            shutil.rmtree(place, ignore_errors=True)


def import_image(node: Node, layout: Path) -> None:
    """Imports a layout by the command line. Raises: Broken with what it said."""
    done = node.command("image", "import", str(layout))
    if done.returncode != 0:
        raise Broken(f"the image is not imported: {done.stderr.strip()}")


def _make_image(node: Node) -> str:
    layout = node.home / "layout"
    digest = build_gate_image(layout)
    import_image(node, layout)
    shutil.rmtree(layout)
    return digest


def _take_image(node: Node, images: Path) -> str:
    shutil.copytree(images, node.state / "images")
    (record,) = images.glob("*.json")
    return f"sha256:{record.stem}"


@contextlib.contextmanager
def open_bench(
    home: Path,
    config: Config,
    program: Program,
    depth: Depth,
    *,
    images: Path | None = None,
    kernels: Path = Path("/"),
) -> Iterator[Bench]:
    """The bench in the directory `home`, which it makes. Raises: Broken when left dirty.

    Everything that it makes elsewhere carries the name of `home`, too.
    With `images`, a directory of a node that has the gate's image already, it is taken from there.
    """
    home.mkdir(mode=0o711, parents=True)
    try:
        node = Node(home, config, program, name="gate-node")
        try:
            digest = _take_image(node, images) if images else _make_image(node)
            node.start()
            yield Bench(
                home=home,
                config=config,
                program=program,
                depth=depth,
                node=node,
                digest=digest,
                kernels=kernels,
            )
        finally:
            left = node.remove()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if left:
        raise Broken(f"the gate left behind: {', '.join(left)}")
