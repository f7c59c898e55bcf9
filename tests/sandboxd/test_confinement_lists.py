"""The lists that confine a sandbox, walked entry by entry, each held by a list of its own here.

A name that leaves or enters one of the daemon's lists changes what is promised, so it must change
this file too. Where the kernel has a second lock behind the first (user namespace, capabilities),
the answer tells which of both spoke.
"""

import errno
import os
import re
import subprocess
from pathlib import Path

import pytest

from sandboxd.kernel.cgroups import ControlGroups, cgroup_mode
from sandboxd.kernel.mountinfo import read_mounts
from sandboxd.runtime.profile import Container, container_configuration
from sandboxd.runtime.syscalls import ALLOWED, REFUSED
from sandboxd.storage.overlay import IdRange
from sandboxd.wire import Limits
from tests.sandboxd.client import Box, MakeBox
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
MIB = 1024 * 1024

MASKED = tuple(
    """
/proc/acpi /proc/asound /proc/interrupts /proc/kallsyms /proc/kcore /proc/keys /proc/kmsg
/proc/kpagecgroup /proc/kpagecount /proc/kpageflags /proc/latency_stats /proc/modules
/proc/sched_debug /proc/scsi /proc/slabinfo /proc/sysrq-trigger /proc/timer_list /proc/timer_stats
/proc/vmallocinfo /sys/firmware /sys/fs /sys/kernel /sys/devices/virtual/powercap
""".split()
)
READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
MOUNTS = {
    "/proc": {"nosuid", "nodev", "noexec"},
    "/dev": {"nosuid"},
    "/dev/shm": {"nosuid", "nodev", "noexec"},
    "/dev/pts": {"nosuid", "noexec"},
    "/dev/mqueue": {"nosuid", "nodev", "noexec"},
    "/sys": {"nosuid", "nodev", "noexec", "ro"},
    "/dev/init": {"ro", "nosuid", "nodev"},
    "/dev/files": {"ro", "nosuid", "nodev"},
}
DANGEROUS = frozenset(
    """
acct add_key bpf chroot clock_adjtime clock_settime clone3 delete_module fanotify_init
finit_module fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register
io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind
migrate_pages mount mount_setattr move_mount move_pages name_to_handle_at open_by_handle_at
open_tree perf_event_open personality pidfd_getfd pivot_root process_madvise process_vm_readv
process_vm_writev ptrace quotactl quotactl_fd reboot request_key set_mempolicy setdomainname
sethostname setns settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup adjtimex
_sysctl afs_syscall create_module get_kernel_syms getpmsg memfd_secret modify_ldt nfsservctl
putpmsg query_module security statmount listmount sysfs tuxcall uselib ustat vserver
lsm_get_self_attr lsm_set_self_attr lsm_list_modules set_mempolicy_home_node io_uring
""".split()
)
"""Ways out, ways into others, and ways that few watch: none may be let through as a whole."""

CLONE = {
    "NEWNS": 0x20000, "NEWCGROUP": 0x2000000, "NEWUTS": 0x4000000, "NEWIPC": 0x8000000,
    "NEWUSER": 0x10000000, "NEWPID": 0x20000000, "NEWNET": 0x40000000,
}  # fmt: skip
SIGCHLD = 17
FAMILIES = range(46)
LET_IN = {1, 2, 10}
ROUTE = (16, 0)


@pytest.fixture(scope="module")
def numbers() -> dict[str, int]:
    """The numbers of system calls on this machine, as the kernel's own header has them."""
    words = ("gcc", "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null")
    text = subprocess.run(words, capture_output=True, check=True, text=True).stdout
    return {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)\n", text)}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    target = tmp_path_factory.mktemp("calls") / "calls"
    source = Path(__file__).with_name("calls.c")
    subprocess.run(["gcc", "-static", "-O1", "-o", str(target), str(source)], check=True)
    return target.read_bytes()


@pytest.fixture
def calls(box: Box, program: bytes) -> "Calls":
    box.write("/srv/calls", program, mode=0o755)
    return Calls(box)


class Calls:
    def __init__(self, box: Box) -> None:
        self._box = box

    def make(self, *calls: tuple[int, ...]) -> list[int]:
        """The errno of each call; -1 where it did not come back."""
        lines = "".join(" ".join(map(str, (*c, 0, 0, 0, 0, 0)[:6])) + "\n" for c in calls)
        said = self._box.shell(f"/srv/calls <<'END'\n{lines}END\n").stdout
        answers = [int(line) for line in said.split()]
        assert len(answers) == len(calls)
        return answers


def configuration() -> dict[str, object]:
    container = Container(
        rootfs=Path("/r"), cgroup="/c", ids=IdRange(first=100000), limits=Limits(),
        hostname="h", init=Path("/i"), files=Path("/f"),
    )  # fmt: skip
    linux: dict[str, object] = container_configuration(container)["linux"]
    return linux


# ---------------------------------------------------------------- what is hidden, what is read-only


def test_every_file_of_the_kernel_that_tells_too_much_is_covered(box: Box) -> None:
    assert sorted(configuration()["maskedPaths"]) == sorted(MASKED)  # type: ignore[call-overload]
    for path in MASKED:
        if not Path(path).exists():
            continue
        if Path(path).is_dir():
            assert (
                box.says(f"ls -A {path} | wc -l; touch {path}/x 2>&1 | grep -c only") == "0\n1"
            ), path
        else:
            assert box.says(f"stat -c '%F %t:%T' {path}") == "character special file 1:3", path


def test_every_switch_of_the_kernel_is_mounted_read_only(box: Box) -> None:
    assert configuration()["readonlyPaths"] == list(READ_ONLY)
    mounted = mounts_of(box)
    for path in READ_ONLY:
        if Path(path).exists():
            assert "ro" in mounted[path], path

    # The network is the sandbox's own, so only the mount keeps its root from these.
    said = box.shell("echo 1 > /proc/sys/net/ipv4/ip_forward")
    assert b"Read-only file system" in said.stderr


def test_every_mount_of_a_sandbox_has_its_flags_and_there_is_no_other(box: Box) -> None:
    mounted = mounts_of(box)
    nodes = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}

    for path, flags in MOUNTS.items():
        assert flags <= mounted[path], path
    assert {"nosuid", "nodev", "rw"} <= mounted["/"]
    assert set(mounted) - set(MOUNTS) - set(MASKED) - set(READ_ONLY) - nodes == {"/"}


def mounts_of(box: Box) -> dict[str, set[str]]:
    """Where something is mounted in a sandbox, and with which flags; the uppermost counts."""
    lines = [line.split() for line in box.says("cat /proc/self/mounts").splitlines()]
    return {line[1]: set(line[3].split(",")) for line in lines}


def test_every_kind_of_namespace_is_the_sandboxes_own(box: Box, make_box: MakeBox) -> None:
    script = "for n in /proc/self/ns/*; do echo ${n##*/} $(readlink $n); done"
    other = make_box("other")
    seen, others = (
        dict(line.split() for line in each.says(script).splitlines()) for each in (box, other)
    )
    ours = {path.name: str(path.readlink()) for path in Path("/proc/self/ns").iterdir()}

    for kind in NAMESPACES:
        assert len({seen[kind], others[kind], ours[kind]}) == 3, kind
    # Time is nothing that a sandbox could change: it has no namespace of its own.
    shared = {k for k in seen if seen[k] == ours.get(k)}
    assert shared <= {"time", "time_for_children"}


def test_a_sandbox_sees_nothing_of_the_nodes_control_groups(daemon: Daemon, box: Box) -> None:
    node = (daemon.state / "node-id").read_text("ascii").strip()

    groups = box.says("cat /proc/self/cgroup /proc/1/cgroup")

    assert node not in groups
    assert box.instance not in groups


# ---------------------------------------------------------------- what a sandbox may use


@pytest.mark.evidence(7)
def test_every_limit_stands_in_the_sandboxes_control_group(
    daemon: Daemon, make_box: MakeBox
) -> None:
    limits = {"memory_bytes": 96 * MIB, "pids": 77, "cpu_millis": 300}
    box = make_box(limits=limits)
    box.says("true")
    groups = groups_of(daemon)

    def value(*files: str) -> str:
        found = [
            (root / groups.path(box.instance).strip("/") / file).read_text("ascii").strip()
            for root in groups._hierarchies
            for file in files
            if (root / groups.path(box.instance).strip("/") / file).exists()
        ]
        return found[0] if found else ""

    assert value("memory.max", "memory.limit_in_bytes") == str(limits["memory_bytes"])
    assert value("memory.swap.max", "memory.memsw.limit_in_bytes") in {
        *("0", str(limits["memory_bytes"])),
        "",  # A kernel that does not account swap; the node has none then.
    }
    assert value("pids.max") == str(limits["pids"])
    assert value("cpu.max", "cpu.cfs_quota_us").split()[0] == "30000"


@pytest.mark.evidence(7)
def test_memory_ends_where_the_limit_says(make_box: MakeBox) -> None:
    box = make_box(limits={"memory_bytes": 64 * MIB})

    def fill(size_mib: int) -> str:
        words = ("if=/dev/zero", "of=/dev/null", f"bs={size_mib}M", "count=1")
        return box.run("/bin/dd", *words).ended

    assert (fill(40), fill(90)) == ("exited", "signalled")


def test_devices_are_closed_to_the_sandboxes_group_even_for_root_of_the_node(
    daemon: Daemon, box: Box
) -> None:
    """A process of the node, with all its rights, is put into the group: it opens no device."""
    box.says("true")
    groups = groups_of(daemon)
    roots = [root for root in groups._hierarchies if root.name == "devices" or groups.mode == "v2"]
    if not any(entry.fstype in {"cgroup", "cgroup2"} for entry in read_mounts()) or not roots:
        pytest.fail("this machine has no hierarchy that could deny devices")
    procs = roots[0] / groups.path(box.instance).strip("/") / "cgroup.procs"
    script = f"echo $$ > {procs}; for d in loop-control null; do head -c0 < /dev/$d; echo $?; done"

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)

    assert Path("/dev/loop-control").exists()
    assert done.stdout.split() == ["2", "0"] or done.stdout.split() == ["1", "0"], done.stderr
    assert "Operation not permitted" in done.stderr


def groups_of(daemon: Daemon) -> ControlGroups:
    node = (daemon.state / "node-id").read_text("ascii").strip()
    return ControlGroups(mode=cgroup_mode(), parent=f"/perlica/{node}")


# ---------------------------------------------------------------- system calls


def test_no_dangerous_call_is_let_through_as_a_whole() -> None:
    assert DANGEROUS & set(ALLOWED) == set()
    assert set(ALLOWED) & set(REFUSED) == set()
    assert {"clone", "socket"} & (set(ALLOWED) | set(REFUSED)) == set()


def test_every_dangerous_call_is_answered_by_the_filter(
    calls: Calls, numbers: dict[str, int]
) -> None:
    """Arguments of zero: a kernel that got the call would say something else, or do it."""
    names = sorted(name for name in DANGEROUS | set(REFUSED) if name in numbers)

    answers = dict(zip(names, calls.make(*((numbers[n],) for n in names)), strict=True))

    wrong = {
        name: errno.errorcode.get(answer, answer)
        for name, answer in answers.items()
        if answer != (errno.EPERM if name in REFUSED else errno.ENOSYS) and name != "personality"
    }
    assert wrong == {}
    assert len(names) > 50


def test_no_flag_of_clone_makes_a_namespace(calls: Calls, numbers: dict[str, int]) -> None:
    made = calls.make(*((numbers["clone"], flag | SIGCHLD) for flag in CLONE.values()))

    refused = dict(zip(CLONE, made, strict=True))
    assert refused == dict.fromkeys(CLONE, errno.ENOSYS)
    assert calls.make((numbers["clone"], SIGCHLD)) == [0]


def test_sockets_are_of_the_internet_or_local_and_of_no_other_family(
    calls: Calls, numbers: dict[str, int]
) -> None:
    socket, stream, raw = numbers["socket"], 1, 3
    answers = calls.make(*((socket, family, stream, 0) for family in FAMILIES))
    packets = calls.make((socket, 17, raw, 0x0300), (socket, 17, 2, 0x0300), (socket, 40, stream))
    netlink = calls.make(*((socket, 16, raw, protocol) for protocol in range(24)))

    assert {f for f, answer in zip(FAMILIES, answers, strict=True) if answer == 0} == LET_IN
    others = {f: a for f, a in enumerate(answers) if f not in LET_IN and (f, a) != (16, 93)}
    assert set(others.values()) <= {errno.EAFNOSUPPORT, errno.ESOCKTNOSUPPORT}
    assert packets == [errno.EAFNOSUPPORT] * 3
    assert [p for p, answer in enumerate(netlink) if answer == 0] == [ROUTE[1]]
    assert set(netlink[1:]) == {errno.EAFNOSUPPORT}


def test_only_plain_personalities_can_be_taken(calls: Calls, numbers: dict[str, int]) -> None:
    plain, no_random = calls.make((numbers["personality"], 0), (numbers["personality"], 0x0040000))

    assert (plain, no_random) == (0, errno.ENOSYS)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="calls of 32 bit are those of x86")
def test_calls_of_32_bit_are_no_second_way_into_the_kernel(box: Box, tmp_path: Path) -> None:
    source = tmp_path / "old.c"
    source.write_text(
        'int main(void){long r=20;__asm__ volatile("int $0x80":"+a"(r)::"memory");return r>0;}'
    )
    subprocess.run(["gcc", "-static", "-o", str(tmp_path / "old"), str(source)], check=True)
    box.write("/srv/old", (tmp_path / "old").read_bytes(), mode=0o755)

    outcome = box.run("/srv/old")

    assert outcome.ended == "signalled" or outcome.exit_code == 0
