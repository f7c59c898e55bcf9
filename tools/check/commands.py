"""The linters of others, each as one command whose exit code decides."""

import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

_BIN = Path(sys.executable).parent
_WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wpointer-arith", "-Wformat=2", "-Werror")
_OBJECTS = Path("build/check")


def run(command: Sequence[str]) -> str:
    """Return an empty text on success, otherwise everything the command printed."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return ""
    return (done.stdout + done.stderr) or f"exit code {done.returncode} without a word"


def format_command() -> list[str]:
    """Formatting, without changing anything."""
    return [str(_BIN / "ruff"), "format", "--check", "--output-format", "concise", "."]


def lint_command() -> list[str]:
    """The rules chosen in pyproject.toml."""
    return [str(_BIN / "ruff"), "check", "--quiet", "--output-format", "concise", "."]


def types_command() -> list[str]:
    """mypy, strict, with the settings in setup.cfg."""
    return [str(_BIN / "mypy"), "--no-error-summary"]


def imports_command() -> list[str]:
    """The import contracts in setup.cfg."""
    return [str(_BIN / "lint-imports"), "--no-logo", "--cache-dir", "build/imports"]


def native_command(source: Path) -> list[str]:
    """Compile one C file of the native part with every warning as an error."""
    _OBJECTS.mkdir(parents=True, exist_ok=True)
    target = _OBJECTS / f"{source.stem}.o"
    include = sysconfig.get_path("include")
    flags = ["-std=c11", "-O2", "-fPIC", *_WARNINGS, f"-I{include}"]
    if source.parent.name == "inside":  # runs without a C library
        flags.append("-ffreestanding")
    return ["gcc", *flags, "-c", str(source), "-o", str(target)]


def shell_command(script: Path) -> list[str]:
    """Read a shell script without running it."""
    return ["bash", "-n", str(script)]
