"""Builds the gate's C programs: static, because they run inside sandboxes of any image."""

import shutil
import subprocess
from pathlib import Path

from gate.lines import Broken

_SOURCES = Path(__file__).parent.parent / "native"
_FLAGS = ("-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static")
_BUILD_WITHIN_S = 120
PROGRAMS = {
    "probe": sorted((_SOURCES / "probe").glob("*.c")),
    "attack": [_SOURCES / "attack.c"],
    "synced": [_SOURCES / "synced.c"],
    "flushlog": [_SOURCES / "flushlog.c"],
}


def build_program(name: str, directory: Path) -> Path:
    """The program `name`, built into `directory` unless it is there. Raises: Broken."""
    target = directory / name
    if target.exists():
        return target
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise Broken("there is no C compiler: apt install gcc libc6-dev")
    argv = [compiler, *_FLAGS, "-o", str(target), *map(str, PROGRAMS[name])]
    built = subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=_BUILD_WITHIN_S
    )
    if built.returncode != 0:
        raise Broken(f"{name} does not compile: {built.stderr[-500:]}")
    return target
