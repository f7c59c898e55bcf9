"""Images: unpacked as their layers say, refused when they were changed or bring what they must not.

The first checks look at the root file system from inside a sandbox, the others at a side node.
"""

import json
import os
import shutil
from pathlib import Path

from gate.bench import Bench
from gate.lines import Broken, Check, require
from gate.rig.client import Answered
from gate.rig.image import (
    LONG_NAME,
    build_device_image,
    build_forged_image,
    build_gate_image,
)
from gate.rig.stack import Stack, mounted_root
from sandboxd.storage.disk import create_disk
from sandboxd.wire import MIN_DISK_BYTES

_CHAMBER_WITHIN_S = 60.0

_EXPECTED = f"""\
removed: no
opaque: shown
overwritten: second layer
links: 3 1
owned: 640 1000 1001
setuid: 4755
fifo: prw-------
symlink: owned
long: {LONG_NAME}
sticky: 1777
"""
_LOOK = f"""
cd /srv/gate
echo "removed: $(test -e removed && echo yes || echo no)"
echo "opaque: $(ls opaque)"
echo "overwritten: $(cat overwritten)"
echo "links: $(stat -c %h links/three) $(stat -c %i links/* | sort -u | wc -l)"
echo "owned: $(stat -c '%a %u %g' owned)"
echo "setuid: $(stat -c %a setuid)"
echo "fifo: $(stat -c %A fifo)"
echo "symlink: $(readlink symlink)"
echo "long: $(ls | grep long-)"
echo "sticky: $(stat -c %a /tmp)"
test "$(cat {LONG_NAME})" = long
"""


def _unpack(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        found = sandbox.says(_LOOK)
    differences = set(found.splitlines()) ^ set(_EXPECTED.splitlines())
    require(not differences, f"other than the layers say: {sorted(differences)}")
    return "whiteout, opaque, 3 hard links over 2 layers, owners, modes, FIFO, 150-byte name"


def _device_policy(bench: Bench) -> str:
    with bench.side_node() as (node, _):
        layout = node.home / "device"
        build_device_image(layout)
        done = node.command("image", "import", str(layout))
    require(done.returncode != 0, "an image with a device node was imported")
    require("device" in done.stderr, f"refused for another reason: {done.stderr.strip()}")
    return "refused"


def _attributes(bench: Bench) -> str:
    with bench.side_node() as (node, _):
        layout = node.home / "forged"
        build_forged_image(layout)
        done = node.command("image", "import", str(layout))

    require(done.returncode != 0, "an image with forged attributes was imported")
    require("attribute" in done.stderr, f"refused for another reason: {done.stderr.strip()}")
    return "refused"


def _user_attributes(bench: Bench) -> str:
    def look(stack: Stack) -> dict[str, str]:
        image = stack.place / "attributes"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        with mounted_root(stack, image) as root:
            noted = root.path / "srv/gate/noted"
            return {name: os.getxattr(noted, name).decode() for name in os.listxattr(noted)}

    found = bench.in_chamber(look, within_s=_CHAMBER_WITHIN_S)
    require(found == {"user.gate": "kept"}, f"attributes of a file: {found}")
    return "user.gate=kept"


def _digest(bench: Bench) -> str:
    with bench.side_node() as (node, digest):
        shutil.rmtree(node.state / "images")
        layout = node.home / "layout"
        blob = _largest(layout / "blobs" / "sha256")
        _flip(blob, at=blob.stat().st_size // 2)
        done = node.command("image", "import", str(layout))
        shown = node.command("image", "list").stdout
    require(done.returncode != 0 and digest not in shown, "a changed blob was imported")
    return "one changed byte in a layer: refused"


def _squashfs(bench: Bench) -> str:
    """The byte lies in the padding at the end, where only the checksum can notice."""
    with bench.side_node() as (node, digest):
        file = next((node.state / "images").glob("*.squashfs"))
        with node.sandbox("judged", digest) as sandbox:
            file.chmod(0o600)
            _flip(file, at=file.stat().st_size - 1)
            try:
                sandbox.run("/bin/true")
            except Answered as error:
                require(error.answer.error == "misconfigured", f"answered {error}")
                return f"refused: {error.answer.message}"
    raise Broken("an image file that was changed after its import was mounted")


def _fixed(bench: Bench) -> str:
    again = bench.home / "again"
    try:
        require(build_gate_image(again) == bench.digest, "the same content has another digest")
        index = json.loads((again / "index.json").read_text("ascii"))
    finally:
        shutil.rmtree(again, ignore_errors=True)
    return f"{len(index['manifests'])} manifest, {bench.digest}"


def _largest(directory: Path) -> Path:
    return max(directory.iterdir(), key=lambda path: path.stat().st_size)


def _flip(file: Path, *, at: int) -> None:
    with file.open("rb+") as opened:
        opened.seek(at)
        byte = opened.read(1)[0]
        opened.seek(at)
        opened.write(bytes([byte ^ 0xFF]))


CHECKS: tuple[Check[Bench], ...] = (
    Check(key="image.fixed", claim="the same content gives the same digest", run=_fixed),
    Check(
        key="image.unpack",
        claim="layers arrive in a sandbox as the image says",
        run=_unpack,
    ),
    Check(
        key="image.device-nodes",
        claim="an image that brings a device node is refused",
        run=_device_policy,
    ),
    Check(
        key="image.attributes",
        claim="an image that forges the overlay's own attributes is refused",
        run=_attributes,
    ),
    Check(
        key="image.user-attributes",
        claim="attributes that an image gives its files arrive in a sandbox",
        run=_user_attributes,
    ),
    Check(key="image.digest", claim="a layer that was changed is refused", run=_digest),
    Check(
        key="image.squashfs",
        claim="an image file that was changed on the node is not mounted",
        run=_squashfs,
    ),
)
