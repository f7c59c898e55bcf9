"""`python -m tools.image base | build`: the images, without a registry or a Docker engine.

`base` makes a Debian with mmdebstrap, `build` runs the Dockerfile with buildah (as root, chroot
isolation) on that or on any image named by its digest. Both write OCI archives into build/image.
"""

import argparse
import configparser
import json
import os
import re
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = Path("build/image")
TARGETS = ("perlica", "sandboxd")
_SUITE = "bookworm"
# What the Dockerfile would install first: once here instead of once for each target.
_BASE_PACKAGES = ("ca-certificates", "gcc", "libc6-dev", "python3-dev", "python3-venv")
_BY_DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")
_PIP_SETTING = re.compile(r"^(?:global|install|download|:env:)\.([a-z-]+)='(.*)'$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """An image as one file: `reference` is how buildah and skopeo name it."""

    path: Path
    digest: str
    layer_bytes: int

    @property
    def reference(self) -> str:
        """For `FROM` and for `buildah from`."""
        return f"oci-archive:{self.path.absolute()}"

    def say(self) -> str:
        """One line for a person."""
        return f"{self.path}  {self.digest}  {self.layer_bytes / 2**20:.1f} MiB"


class Workshop:
    """buildah with a storage of its own in `folder`: nothing else on the machine changes."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if need be."""
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        places = (f"--root={self.folder / 'storage'}", f"--runroot={self.folder / 'run'}")
        self._has_overlay = _works("buildah", *places, "--storage-driver=overlay", "info")
        driver = "overlay" if self._has_overlay else "vfs"
        self._buildah = ("buildah", *places, f"--storage-driver={driver}")

    def make_base(self, mirrors: Sequence[str] = ()) -> Archive:
        """A small Debian with apt, as an OCI archive. Raises: subprocess.CalledProcessError."""
        tree, archive = self.folder / "base-tree.tar", self.folder / "base.tar"
        options = ["--quiet", "--variant=apt", f"--include={','.join(_BASE_PACKAGES)}"]
        self._run("mmdebstrap", *options, _SUITE, str(tree), *mirrors)
        container = self._ask("from", "scratch")
        try:
            self._run(*self._buildah, "add", "--quiet", container, str(tree), "/")
            archive.unlink(missing_ok=True)
            target = f"oci-archive:{archive}"
            self._run(*self._buildah, "commit", "--quiet", "--timestamp=0", container, target)
        finally:
            self._run(*self._buildah, "rm", container)
            tree.unlink(missing_ok=True)
        return read_archive(archive)

    def build(self, target: str, base: str) -> Archive:
        """Build one target of the Dockerfile on `base`. Raises: subprocess.CalledProcessError."""
        archive = self.folder / f"{target}.tar"
        archive.unlink(missing_ok=True)
        settings = {"BASE": base, "VERSION": read_version()}
        pip = read_pip_settings()
        if "index-url" in pip:
            settings["PIP_INDEX_URL"] = pip["index-url"]
        options = [f"--build-arg={name}={value}" for name, value in settings.items()]
        if "cert" in pip:
            options.append(f"--secret=id=certificates,src={pip['cert']}")
        # Where layers cost no copies, the second target begins with those of the first.
        options.append(f"--layers={'true' if self._has_overlay else 'false'}")
        command = ["build-using-dockerfile", "--isolation=chroot", "--timestamp=0", *options]
        command += [f"--target={target}", f"--tag=oci-archive:{archive}", str(ROOT)]
        self._run(*self._buildah, *command)
        return read_archive(archive)

    def unpack(self, image: Archive, target: Path) -> Path:
        """Copy the root file system of an image to `target`, which must not exist yet."""
        container = self._ask("from", "--quiet", image.reference)
        try:
            self._run("cp", "--archive", self._ask("mount", container), str(target))
        finally:
            self._run(*self._buildah, "rm", container)
        return target

    def close(self) -> None:
        """Unmount what buildah left, also where a build was interrupted; the files stay."""
        ended = [*self._buildah, "rm", "--all"]
        subprocess.run(ended, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        for place in reversed(_mounts_below(self.folder)):
            subprocess.run(["umount", str(place)], check=False)

    def _ask(self, *words: str) -> str:
        done = subprocess.run(
            [*self._buildah, *words], check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout.strip()

    def _run(self, *command: str) -> None:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, env=environment)


def _mounts_below(folder: Path) -> list[Path]:
    """Mount points inside a folder, in the order in which they were mounted."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    points = (Path(line.split()[4]) for line in lines)
    return [point for point in points if point.is_relative_to(folder)]


def _works(*command: str) -> bool:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode == 0


def read_archive(path: Path) -> Archive:
    """The manifest's digest, and how large the layers are."""
    with tarfile.open(path) as archive:

        def read(name: str) -> dict[str, list[dict[str, object]]]:
            file = archive.extractfile(name)
            if file is None:
                raise ValueError(f"{path} holds no {name}")
            found: dict[str, list[dict[str, object]]] = json.load(file)
            return found

        digest = str(read("index.json")["manifests"][0]["digest"])
        layers = read(f"blobs/{digest.replace(':', '/')}")["layers"]
    return Archive(path=path, digest=digest, layer_bytes=sum(int(str(it["size"])) for it in layers))


def read_version() -> str:
    """The version in setup.cfg."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    return settings["metadata"]["version"]


def read_pip_settings() -> Mapping[str, str]:
    """What this machine's pip is told: the index and the certificates matter inside as well."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(_PIP_SETTING.findall(done.stdout))


def check_base(base: str) -> str:
    """A base that cannot change: by digest, or a file of ours. Raises: ArgumentTypeError."""
    if base.startswith("oci-archive:") or _BY_DIGEST.fullmatch(base):
        return base
    raise argparse.ArgumentTypeError(f"{base}: name the base by its digest (…@sha256:…)")


def main(arguments: Sequence[str]) -> int:
    """Make what was asked for and print a line for each archive."""
    parser = argparse.ArgumentParser(prog="python -m tools.image", description=__doc__)
    parser.add_argument("work", choices=("base", "build"))
    parser.add_argument("--base", type=check_base, help="by default the one that `base` made")
    parser.add_argument("--target", choices=TARGETS, action="append", help="by default both")
    parser.add_argument("--mirror", action="append", default=[], help="of Debian, for `base`")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args(arguments)
    workshop = Workshop(asked.folder)
    try:
        if asked.work == "base":
            print(workshop.make_base(asked.mirror).say())
            return 0
        base = asked.base or read_archive(workshop.folder / "base.tar").reference
        for target in asked.target or TARGETS:
            print(workshop.build(target, base).say())
    finally:
        workshop.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
