"""The tree becomes a package that is whole: code, migrations, native parts, programs."""

import os
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from perlica.stores import migrations
from tests.frame.checkout import ROOT, copy_tree
from tools.check.tree import list_files

PACKAGES = ("perlica", "actors", "sandboxd", "gate")
BUILD_LIMIT_S = 120


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = copy_tree(tmp_path_factory.mktemp("tree"))
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
    command += ["--no-build-isolation", "--quiet", "--wheel-dir", str(target), str(tree)]
    subprocess.run(command, check=True, capture_output=True, timeout=BUILD_LIMIT_S)
    (built,) = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and the libraries of the one that runs the tests."""
    home = tmp_path_factory.mktemp("installed")
    venv = [sys.executable, "-m", "venv", "--without-pip", str(home)]
    subprocess.run(venv, check=True, capture_output=True)
    (packages,) = home.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched; its own .pth files, our editable install, are not.
    libraries = "\n".join(site.getsitepackages())
    (packages / "libraries.pth").write_text(libraries + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    command += ["--python", str(home / "bin" / "python"), "install", "--no-deps", "--no-index"]
    command += ["--ignore-installed", "--quiet", str(wheel)]
    environment = {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}
    subprocess.run(command, check=True, capture_output=True, env=environment)
    return home


def _run(home: Path, *command: str) -> str:
    done = subprocess.run(
        [str(home / "bin" / command[0]), *command[1:]],
        cwd=home,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_every_module_and_every_file_that_lies_beside_one(wheel: Path) -> None:
    inside = {
        str(path)
        for path in list_files()
        if path.parts[0] in PACKAGES and path.suffix not in {".c", ".h", ".pyi"}
    }

    assert inside
    assert inside - _names(wheel) == set()


def test_the_wheel_holds_every_migration(wheel: Path) -> None:
    steps = {f"perlica/_sql/{path.name}" for path in (ROOT / "sql").glob("*.sql")}

    assert steps
    assert steps - _names(wheel) == set()


@pytest.mark.parametrize("part", ["_native", "_files"])
def test_the_wheel_holds_the_compiled_parts(wheel: Path, part: str) -> None:
    names = _names(wheel)

    assert any(name.startswith(f"sandboxd/{part}.") and name.endswith(".so") for name in names)


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in _names(wheel)}

    assert {top for top in tops if not top.endswith(".dist-info")} == set(PACKAGES)


def test_the_program_inside_a_sandbox_needs_no_library(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.startswith("sandboxd/_files."))
        program = Path(archive.extract(name, tmp_path))
    program.chmod(0o755)

    # Without arguments it explains itself; that it gets so far shows that it needs no loader.
    done = subprocess.run([program], capture_output=True, text=True, timeout=5, check=False)

    assert (done.returncode, done.stderr.split()[0]) == (1, "usage")


@pytest.mark.parametrize("program", ["perlica", "sandboxd"])
def test_an_installed_program_explains_itself(installed: Path, program: str) -> None:
    assert "doctor" in _run(installed, program, "--help")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_installed_code_is_the_wheels(installed: Path, package: str) -> None:
    origin = _run(installed, "python", "-c", f"import {package}; print({package}.__file__)")

    assert Path(origin.strip()).is_relative_to(installed)


def test_an_installed_program_finds_its_migrations(installed: Path) -> None:
    script = "from perlica.stores.migrations import migrate; import pathlib, sys"
    script += "; print(migrate(pathlib.Path('state/perlica.db')))"

    version = int(_run(installed, "python", "-c", script))

    assert version == len(list((ROOT / "sql").glob("*.sql")))


def test_a_checkout_finds_its_migrations(tmp_path: Path) -> None:
    version = migrations.migrate(tmp_path / "state" / "perlica.db")

    assert version == len(list((ROOT / "sql").glob("*.sql")))


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in list_files() if path.suffix == ".py"}
    ours = {folder for folder in folders if folder.parts and folder.parts[0] in PACKAGES}

    assert {folder for folder in ours if not (ROOT / folder / "__init__.py").exists()} == set()
