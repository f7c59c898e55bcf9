"""The virtual environment: made, filled from the locked files, and the project installed into it.

Second half of set-up. Each step is skipped when what it depends on has not changed since it was
last done; the marks lie inside the environment, so deleting `.venv` forgets them too.
"""

import hashlib
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.setup.terminal import run_logged

HOME = Path(".venv")
_INTERPRETER = HOME / "bin" / "python"
_MARKS = HOME / "perlica-setup.json"
_LOCKS = Path("tools/requirements")


def interpreter_is_current() -> bool:
    """Whether the environment was made here, by the interpreter that runs set-up."""
    try:
        lines = (HOME / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    made = {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    return (
        _INTERPRETER.exists()
        and made.get("version") == platform.python_version()
        and made.get("executable") == str(Path(sys.executable).resolve())
        and made.get("command", "").endswith(f" {HOME.absolute()}")
    )


def make_environment() -> None:
    """Make `.venv` anew with the interpreter that runs this.

    Raises:
        StepFailed: Python could not make it.
    """
    if HOME.exists():
        shutil.rmtree(HOME)
    run_logged([sys.executable, "-m", "venv", str(HOME)])


def packages_are_current(locks: Iterable[str]) -> bool:
    """Whether exactly these lock files, in their present wording, were installed."""
    return _is_done("packages", _file_print(_lock_paths(locks)))


def install_packages(locks: Iterable[str]) -> None:
    """Install the locked packages; pip refuses anything whose hash is not in the file.

    Raises:
        StepFailed: pip could not fetch, check or install one of them.
    """
    paths = _lock_paths(locks)
    command = [*_pip(), "install", "--require-hashes", "--no-deps", "--only-binary", ":all:"]
    for path in paths:
        command += ["-r", str(path)]
    run_logged(command, environment=_pip_environment())
    _mark_done("packages", _file_print(paths))


def project_is_current() -> bool:
    """Whether the project is installed and its native part compiled from the present sources."""
    compiled = any(Path("sandboxd").glob("_native.*.so")) and any(
        Path("sandboxd").glob("_files.*.so")
    )
    return compiled and _is_done("project", _file_print(_project_paths()))


def install_project() -> None:
    """Install the checkout in place, without its dependencies, and compile the native part.

    Raises:
        StepFailed: the compiler or the build backend failed.
    """
    run_logged(
        [*_pip(), "install", "--no-deps", "--no-build-isolation", "--editable", "."],
        environment=_pip_environment(),
    )
    _mark_done("project", _file_print(_project_paths()))


def _pip() -> list[str]:
    return [str(_INTERPRETER), "-m", "pip", "--disable-pip-version-check", "--no-input"]


def _pip_environment() -> dict[str, str]:
    """The caller's environment, so that a mirror configured there is used."""
    return {**os.environ, "PIP_ROOT_USER_ACTION": "ignore"}


def _lock_paths(locks: Iterable[str]) -> list[Path]:
    return [_LOCKS / f"{lock}.txt" for lock in locks]


def _project_paths() -> list[Path]:
    native = sorted(Path("sandboxd").glob("*/*.[ch]"))
    # setup.cfg takes what the package demands from these lists.
    demanded = [_LOCKS / f"{name}.in" for name in ("run", "demo", "cluster")]
    return [Path("setup.cfg"), Path("setup.py"), Path("pyproject.toml"), *demanded, *native]


def _file_print(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _marks() -> dict[str, str]:
    try:
        return dict(json.loads(_MARKS.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _is_done(step: str, fingerprint: str) -> bool:
    return _marks().get(step) == fingerprint


def _mark_done(step: str, fingerprint: str) -> None:
    marks = {**_marks(), step: fingerprint}
    _MARKS.write_text(json.dumps(marks, indent=2) + "\n", encoding="utf-8")
