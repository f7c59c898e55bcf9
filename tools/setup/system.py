"""The system packages: what is missing, and installing it through apt when that is possible.

First step of set-up. Without root and without sudo it installs nothing and says what will not work.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.setup.terminal import can_ask, run_logged, say


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPart:
    """A Debian package, and what cannot work without it.

    Where another package brings the same `command`, nothing is missing.
    """

    package: str
    without: str
    tests_only: bool = False
    command: str | None = None


PARTS = (
    SystemPart(package="gcc", without="the native part of sandboxd cannot be compiled"),
    SystemPart(package="libc6-dev", without="the native part of sandboxd cannot be compiled"),
    SystemPart(package="crun", without="no sandbox can run"),
    SystemPart(
        package="catatonit", without="no sandbox can run (it is each sandbox's first process)"
    ),
    SystemPart(
        package="xfsprogs", without="no sandbox can be created (each has a disk of its own)"
    ),
    SystemPart(package="squashfs-tools", without="no sandbox image can be prepared"),
    SystemPart(package="skopeo", without="no image can be pulled from a registry"),
    SystemPart(package="zstd", without="images with zstd layers cannot be unpacked"),
    SystemPart(package="busybox-static", without="the small image of the demo cannot be built"),
    SystemPart(package="runc", without="the second runtime is not tested", tests_only=True),
    SystemPart(package="docker-registry", without="pulling images is not tested", tests_only=True),
    SystemPart(package="curl", without="tests of sandbox egress are skipped", tests_only=True),
    SystemPart(package="git", without="tests of sandbox egress are skipped", tests_only=True),
    SystemPart(package="umoci", without="layers have no second unpacker", tests_only=True),
    SystemPart(package="strace", without="writing files safely is not tested", tests_only=True),
    SystemPart(
        package="mmdebstrap", without="no sandbox of a real Debian is tested", tests_only=True
    ),
    SystemPart(package="chromium", without="tests of the chat page are skipped", tests_only=True),
    SystemPart(
        package="npm",
        without="accessibility and a peer's reading of our frames are not tested",
        tests_only=True,
        command="npm",
    ),
)


def python_parts() -> tuple[SystemPart, ...]:
    """The packages this interpreter needs beside it: its venv module and its headers."""
    parts = []
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not _imports("ensurepip"):
        parts.append(
            SystemPart(package=f"{name}-venv", without="no virtual environment, so nothing runs")
        )
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        parts.append(
            SystemPart(
                package=f"{name}-dev", without="the native part of sandboxd cannot be compiled"
            )
        )
    return tuple(parts)


def find_missing(*, with_tests: bool) -> tuple[SystemPart, ...]:
    """The parts that dpkg does not list as installed."""
    wanted = [part for part in PARTS if with_tests or not part.tests_only]
    installed = _installed(part.package for part in wanted)
    missing = (part for part in wanted if part.package not in installed)
    return (*python_parts(), *(part for part in missing if not _has_command(part)))


def is_installed(part: SystemPart) -> bool:
    """Whether dpkg lists this one now."""
    return part.package in _installed([part.package]) or _has_command(part)


def _has_command(part: SystemPart) -> bool:
    return part.command is not None and shutil.which(part.command) is not None


def may_install() -> bool:
    """Whether apt can be run here: as root, or through sudo, which may ask for a password."""
    return _privilege() is not None


def install(missing: tuple[SystemPart, ...]) -> None:
    """Install those of the missing parts that this system offers.

    Raises:
        StepFailed: apt was allowed to work and failed.
    """
    prefix = _privilege() or ()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    if prefix:
        prefix = (*prefix, "DEBIAN_FRONTEND=noninteractive")
    run_logged([*prefix, "apt-get", "update"], environment=environment)
    offered = [part.package for part in missing if _is_offered(part.package)]
    if offered:
        say(f"      installing {', '.join(offered)}")
        command = [*prefix, "apt-get", "install", "-y", "--no-install-recommends", *offered]
        run_logged(command, environment=environment)


def explain_absence() -> str:
    """Why the missing packages were not installed, and what a person can do."""
    if shutil.which("apt-get") is None:
        return f"no apt-get on this system ({_system_name()}); install them your way"
    if _privilege() is None:
        return "not root and no usable sudo; run 'sudo make setup' or install them yourself"
    return f"{_system_name()} does not offer them"


def _privilege() -> tuple[str, ...] | None:
    """What to put before apt-get; None when it cannot be run."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return ()
    if shutil.which("sudo") is None:
        return None
    if subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode == 0:
        return ("sudo", "-n")
    if can_ask():
        say("      sudo asks for your password to install system packages")
        if subprocess.run(["sudo", "-v"], check=False).returncode == 0:
            return ("sudo", "-n")
    return None


def _installed(names: Iterable[str]) -> frozenset[str]:
    if shutil.which("dpkg-query") is None:
        return frozenset()
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = (line.split() for line in answer.stdout.splitlines())
    return frozenset(row[0] for row in rows if row[1:] == ["installed"])


def _is_offered(package: str) -> bool:
    """Whether apt has a candidate. Ubuntu has no chromium of its own, only a snap's stub."""
    command = ["apt-cache", "policy", package]
    environment = {**os.environ, "LC_ALL": "C"}
    answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return "Candidate: " in answer.stdout and "Candidate: (none)" not in answer.stdout


def _imports(module: str) -> bool:
    command = [sys.executable, "-c", f"import {module}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _system_name() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()
