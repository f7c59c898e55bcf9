"""What the images hold, and what they do not."""

import json
import stat
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.image.conftest import Images, MakeContainer, Roots
from tools.image import TARGETS, Archive

pytestmark = [pytest.mark.root, pytest.mark.image, pytest.mark.timeout(900)]

SERVICE_USER = 10001
MOST_BYTES = 150 * 2**20
# None of these is needed at run time, so none of them is there.
UNWANTED = (
    "sh", "bash", "dash", "busybox", "apt", "apt-get", "dpkg", "perl", "curl", "wget", "su", "sudo",
    "mount", "gcc", "pip", "pip3", "env",
)  # fmt: skip
IMPORT_ALL = """
import importlib, pkgutil, sys
failed = []
for name in sys.argv[1:]:
    for found in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        parts = found.name.split(".")
        # Of _files only the file is used: it is a program.
        if {"__main__", "demo", "_files"} & set(parts):
            continue
        try:
            importlib.import_module(found.name)
        except Exception as error:
            failed.append(f"{found.name}: {error!r}")
sys.exit("\\n".join(failed) or 0)
"""


def config_of(image: Archive) -> Mapping[str, Any]:
    """The image's own configuration: user, entry point, labels."""
    with tarfile.open(image.path) as archive:

        def read(name: str) -> Any:
            file = archive.extractfile(name)
            assert file is not None
            return json.load(file)

        manifest = read(f"blobs/{image.digest.replace(':', '/')}")
        found: Mapping[str, Any] = read(f"blobs/{manifest['config']['digest'].replace(':', '/')}")
    return found["config"]  # type: ignore[no-any-return]


def entries(root: Path) -> Iterator[tuple[Path, int]]:
    for path in root.rglob("*"):
        yield path.relative_to(root), path.lstat().st_mode


def test_they_are_small(images: Images, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print("\n" + "\n".join(image.say() for image in images.values()))

    assert all(image.layer_bytes < MOST_BYTES for image in images.values())


def test_the_service_is_no_user_with_a_name_and_starts_without_a_shell(images: Images) -> None:
    config = config_of(images["perlica"])

    assert config["User"] == f"{SERVICE_USER}:{SERVICE_USER}"
    assert config["Entrypoint"] == ["/opt/perlica/bin/perlica"]
    assert config["Cmd"] == ["run"]
    assert config["StopSignal"] == "SIGTERM"


@pytest.mark.parametrize("target", TARGETS)
def test_there_is_no_shell_and_nothing_to_install_with(roots: Roots, target: str) -> None:
    names = {path.name for path, mode in entries(roots[target]) if not stat.S_ISDIR(mode)}

    assert not names & set(UNWANTED)
    assert not [name for name in names if name.startswith("python3-config")]


@pytest.mark.parametrize("target", TARGETS)
def test_no_program_gives_rights_that_its_caller_lacks(roots: Roots, target: str) -> None:
    setters = [
        path for path, mode in entries(roots[target]) if stat.S_ISREG(mode) and mode & 0o6000
    ]

    assert setters == []


def test_the_service_could_write_nowhere_but_into_its_volumes(roots: Roots) -> None:
    root = roots["perlica"]
    writable = {
        path
        for path, mode in entries(root)
        if not stat.S_ISLNK(mode) and (mode & 0o002 or (root / path).lstat().st_uid == SERVICE_USER)
    }

    assert writable == {Path("tmp"), Path("var/lib/perlica")}


def test_each_image_holds_only_its_own_program(roots: Roots) -> None:
    def packages(target: str) -> set[str]:
        (site,) = (roots[target] / "opt/perlica/lib").glob("python3*/site-packages")
        return {path.name for path in site.iterdir()} & {"perlica", "actors", "sandboxd", "pip"}

    (wire,) = (roots["perlica"] / "opt/perlica/lib").glob("python3*/site-packages/sandboxd")
    assert packages("perlica") == {"perlica", "actors", "sandboxd"}
    assert packages("sandboxd") == {"sandboxd"}
    assert {path.name for path in wire.iterdir()} == {"__init__.py", "__pycache__", "wire"}


@pytest.mark.parametrize("target", TARGETS)
def test_every_package_is_recorded_with_its_licence(roots: Roots, target: str) -> None:
    recorded = {path.name for path in (roots[target] / "var/lib/dpkg/status.d").iterdir()}
    licensed = {path.parent.name for path in roots[target].glob("usr/share/doc/*/copyright")}

    assert {"libc6", "libssl3", "python3.11-minimal"} <= recorded
    # One that shares the documentation of another has a link instead.
    shared = {it for it in recorded if (roots[target] / "usr/share/doc" / it).is_symlink()}
    assert recorded - licensed - shared == set()


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_of_the_build_stays(roots: Roots, target: str) -> None:
    root = roots[target]

    assert not (root / "build").exists()
    assert not (root / "run/secrets").exists()
    assert not [path for path, _ in entries(root) if path.name in {".netrc", "pip.conf"}]


@pytest.mark.parametrize(
    ("target", "names"), [("perlica", ("perlica", "actors")), ("sandboxd", ("sandboxd",))]
)
def test_every_module_finds_its_libraries(
    make_container: MakeContainer, target: str, names: tuple[str, ...]
) -> None:
    python = "/opt/perlica/bin/python"
    done = make_container(target, python, "-c", IMPORT_ALL, *names, user=SERVICE_USER).run()

    assert done.returncode == 0, done.stderr
