"""An image with Python, pip and git, made of the files of this machine: nothing is fetched.

Its pip and git are set up for one mirror, as an operator would do it who offers one.
"""

import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sandboxd.images.demo import _applets
from tests.sandboxd.layouts import write_layout

PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
MIRROR = "mirror.test"
_LEFT_OUT = {
    *("__pycache__", "site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter"),
    *("lib2to3", "turtledemo", "ensurepip", "EXTERNALLY-MANAGED"),
}
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
    "etc/pip.conf": (
        "[global]\nindex-url = https://{mirror}:{port}/simple\ncert = /etc/ssl/mirror.pem\n"
        "no-cache-dir = true\ndisable-pip-version-check = true\nroot-user-action = ignore\n"
    ),
    "etc/gitconfig": (
        "[http]\n\tsslCAInfo = /etc/ssl/mirror.pem\n"
        '[url "https://{mirror}:{port}/"]\n\tinsteadOf = https://{mirror}/\n'
        "[user]\n\tname = Ming\n\temail = ming@example.org\n"
        "[init]\n\tdefaultBranch = main\n"
    ),
}
_DIRECTORIES = (
    *("dev", "proc", "sys", "root", "run", "tmp", "var/tmp", "home", "usr/local"),
    "usr/share/git-core/templates",
)


def build_project_image(directory: Path, authority: Path, port: int) -> Path:
    """Writes an OCI layout whose tools know the mirror at `port` and trust `authority`."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        tree = _Tree(archive)
        for name in _DIRECTORIES:
            tree.add_directory(PurePosixPath(name))
        for name, text in _FILES.items():
            filled = text.format(mirror=MIRROR, port=port) if "{" in text else text
            tree.add_file(name, filled.encode("utf-8"))
        tree.add_file("etc/ssl/mirror.pem", authority.read_bytes())
        _add_busybox(tree)
        _add_programs(tree)
    directory.mkdir()
    return write_layout(directory, buffer.getvalue(), packing="tar")


class _Tree:
    """A layer in the making; directories come before what is in them, nothing comes twice."""

    def __init__(self, archive: tarfile.TarFile) -> None:
        self._archive = archive
        self._there = {PurePosixPath()}

    def add_directory(self, path: PurePosixPath) -> None:
        if path in self._there:
            return
        self.add_directory(path.parent)
        self._there.add(path)
        entry = tarfile.TarInfo(str(path))
        entry.type = tarfile.DIRTYPE
        entry.mode = 0o1777 if path.name == "tmp" else 0o755
        self._archive.addfile(entry)

    def add_file(self, name: str, content: bytes, mode: int = 0o644) -> None:
        entry = self._new(name)
        if entry is None:
            return
        entry.size, entry.mode = len(content), mode
        self._archive.addfile(entry, io.BytesIO(content))

    def add_link(self, name: str, target: str) -> None:
        entry = self._new(name)
        if entry is None:
            return
        entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, target, 0o777
        self._archive.addfile(entry)

    def add_copy(self, name: str, source: Path) -> None:
        mode = 0o755 if os.access(source, os.X_OK) else 0o644
        self.add_file(name, source.read_bytes(), mode)

    def _new(self, name: str) -> tarfile.TarInfo | None:
        path = PurePosixPath(name)
        if path in self._there:
            return None
        self.add_directory(path.parent)
        self._there.add(path)
        return tarfile.TarInfo(name)


def _add_busybox(tree: _Tree) -> None:
    program = Path(shutil.which("busybox") or "/bin/busybox")
    tree.add_copy("bin/busybox", program)
    for applet in _applets(program):
        tree.add_link(f"bin/{applet}", "busybox")


def _add_programs(tree: _Tree) -> None:
    python = Path(sys.executable).resolve()
    git = Path(shutil.which("git") or "/usr/bin/git")
    core = Path(subprocess.check_output([git, "--exec-path"], text=True).strip())
    library = Path(sysconfig.get_path("stdlib"))
    tree.add_copy(f"usr/bin/{PYTHON}", python)
    tree.add_link("usr/bin/python3", PYTHON)
    for source, place in ((library, f"usr/lib/{PYTHON}"), (_find_pip(), "")):
        for path in _files_below(source):
            name = place or f"usr/lib/{PYTHON}/pip"
            tree.add_copy(f"{name}/{path.relative_to(source)}", path)
    tree.add_copy("usr/bin/git", git)
    tree.add_copy(f"{str(core).lstrip('/')}/git-remote-https", core / "git-remote-https")
    modules = sorted((library / "lib-dynload").glob("*.so"))
    for needed in _libraries(python, git, core / "git-remote-https", *modules):
        tree.add_copy(needed.lstrip("/"), Path(needed))


def _find_pip() -> Path:
    """The pip of this interpreter's environment, without loading it."""
    found = importlib.util.find_spec("pip")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _files_below(directory: Path) -> Iterator[Path]:
    for entry in sorted(directory.iterdir()):
        if entry.name in _LEFT_OUT or entry.name.startswith("config-"):
            continue
        if entry.is_dir():
            yield from _files_below(entry)
        elif entry.is_file():
            yield entry


def _libraries(*programs: Path) -> list[str]:
    """Paths of the shared libraries that these load, the loader included."""
    listed = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    return sorted(set(_LIBRARY.findall(listed)))
