"""Finds the facts of a report: what the daemon says of itself, what the node is, which programs."""

import hashlib
import json
import platform
import subprocess
from pathlib import Path
from typing import Any

from gate.bench import Bench
from gate.report.document import Facts, NodeIdentity
from sandboxd.identity import configuration_digest, filesystem_of
from sandboxd.runtime.syscalls import seccomp_profile

_VERSION_WITHIN_S = 10.0
_PROGRAMS = {
    "mkfs.xfs": ("mkfs.xfs", "-V"),
    "mksquashfs": ("mksquashfs", "-version"),
    "catatonit": ("catatonit", "--version"),
    "python": ("python3", "--version"),
}

_CAPABILITY_NAMES = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE
AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
PERFMON BPF CHECKPOINT_RESTORE
""".split()


def find_facts(bench: Bench) -> Facts:
    """The facts of the node that the bench stands on."""
    health = bench.node.client.health()
    held = next((bench.node.state / "images").glob("*.json"))
    image: dict[str, Any] = json.loads(held.read_text("utf-8"))
    file_system = filesystem_of(bench.home) or "unknown"
    return Facts(
        node=NodeIdentity(
            kernel=health.facts.kernel,
            architecture=platform.machine(),
            runtime=health.facts.runtime,
            runtime_version=health.facts.runtime_version,
            cgroup_mode=health.facts.cgroup_mode,
            file_system=file_system,
            sandboxd=health.version,
            configuration=configuration_digest(bench.config),
            code=health.facts.code or "unknown",
        ),
        image_digest=bench.digest,
        image_squashfs_sha256=str(image["squashfs_sha256"]),
        seccomp=_seccomp(),
        mandatory_access_control=_access_control(),
        node_rights=tuple(_rights(bench.node.pid)),
        runtime_class=f"{health.facts.runtime} by sandboxd; no Kubernetes RuntimeClass",
        storage=f"XFS on a fallocated loop file on {file_system}, overlay above it",
        programs={name: _version(argv) for name, argv in _PROGRAMS.items()},
    )


def _seccomp() -> str:
    profile = seccomp_profile()
    allowed = {
        name
        for rule in profile["syscalls"]
        if rule["action"] == "SCMP_ACT_ALLOW"
        for name in rule["names"]
    }
    raw = json.dumps(profile, sort_keys=True).encode("utf-8")
    return f"allow-list of {len(allowed)} calls, sha256:{hashlib.sha256(raw).hexdigest()}"


def _access_control() -> str:
    try:
        listed = Path("/sys/kernel/security/lsm").read_text("ascii").split(",")
    except OSError:
        listed = []
    if Path("/sys/module/apparmor/parameters/enabled").exists():
        listed.append("apparmor")
    found = sorted({"apparmor", "selinux"} & set(listed))
    return ", ".join(found) or "none"


def _rights(pid: int) -> list[str]:
    """Names of the daemon's capabilities, from its bounding set."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("CapBnd"))
    held = int(line.split()[1], 16)
    return [name for number, name in enumerate(_CAPABILITY_NAMES) if held >> number & 1]


def _version(argv: tuple[str, ...]) -> str:
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=_VERSION_WITHIN_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    said = (done.stdout or done.stderr).splitlines()
    return said[0].strip() if said else "unknown"
