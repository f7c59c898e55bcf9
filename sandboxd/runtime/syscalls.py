"""The system calls that commands in a sandbox may use (seccomp), by what they are for.

Everything that is not named answers ENOSYS, so that libraries fall back; what programs try on
purpose and must not get answers EPERM. Namespaces, mounts, tracing, keys, io_uring, bpf, perf,
userfaultfd and foreign address families stay outside.
"""

import platform
from typing import Any, Final

_ARCHITECTURES: Final = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
"""Only the native one: 32-bit calls are a second, less watched way into the kernel."""
_ENOSYS: Final = 38
_EPERM: Final = 1
_EAFNOSUPPORT: Final = 97
_NEW_NAMESPACES: Final = 0x7E020000
"""All CLONE_NEW* flags that clone takes."""
_IP_AND_LOCAL: Final = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6."""
_AF_NETLINK: Final = 16
_NETLINK_ROUTE: Final = 0
_PERSONALITIES: Final = (0x0, 0x0008, 0x20000, 0x20008, 0xFFFFFFFF)

_FILES = """
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr
flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents
getdents64 getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch ioctl lchown
lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat mkdir mkdirat mknod
mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2 read
readahead readlink readlinkat readv removexattr rename renameat renameat2 rmdir sendfile setxattr
splice stat statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink
unlinkat utime utimensat utimes vmsplice write writev cachestat
"""
_MEMORY = """
brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync
munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages
get_mempolicy map_shadow_stack mseal
"""
_PROCESSES = """
capget capset execve execveat exit exit_group fork vfork getegid geteuid getgid getgroups getpgid
getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid
kill landlock_add_rule landlock_create_ruleset landlock_restrict_self pidfd_open pidfd_send_signal
prctl prlimit64 rseq seccomp setfsgid setfsuid setgid setgroups setpgid setpriority setregid
setresgid setresuid setreuid setrlimit setsid setuid set_robust_list get_robust_list
set_thread_area get_thread_area set_tid_address sysinfo tgkill times tkill uname wait4 waitid
arch_prctl
"""
_SIGNALS_AND_TIME = """
alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep pause
restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack signalfd signalfd4 time
timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime
"""
_WAITING = """
epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
epoll_wait_old eventfd eventfd2 futex futex_wait futex_wake futex_requeue futex_waitv getcpu
io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit ioprio_get ioprio_set poll ppoll
pselect6 select sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr
sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
sched_setparam sched_setscheduler sched_yield
"""
_TALKING = """
accept accept4 bind connect getpeername getsockname getsockopt listen pipe pipe2 recvfrom recvmmsg
recvmsg sendmmsg sendmsg sendto setsockopt shutdown socketpair mq_getsetattr mq_notify mq_open
mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop
shmat shmctl shmdt shmget getrandom
"""
ALLOWED: Final[tuple[str, ...]] = tuple(
    sorted(
        name
        for group in (_FILES, _MEMORY, _PROCESSES, _SIGNALS_AND_TIME, _WAITING, _TALKING)
        for name in group.split()
    )
)
REFUSED: Final[tuple[str, ...]] = tuple(
    """
acct add_key bpf chroot clock_adjtime clock_settime delete_module fanotify_init finit_module
fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register io_uring_setup ioperm
iopl kcmp kexec_file_load kexec_load keyctl lookup_dcookie mbind migrate_pages mount mount_setattr
move_mount move_pages name_to_handle_at open_by_handle_at open_tree perf_event_open pidfd_getfd
pivot_root process_madvise process_vm_readv process_vm_writev ptrace quotactl quotactl_fd reboot
request_key set_mempolicy setdomainname sethostname setns settimeofday swapoff swapon syslog
umount2 unshare userfaultfd vhangup adjtimex
""".split()
)


def seccomp_profile() -> dict[str, Any]:
    """The `linux.seccomp` object of an OCI configuration."""
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": _ENOSYS,
        "architectures": [_ARCHITECTURES[platform.machine()]],
        "syscalls": [
            {"names": list(ALLOWED), "action": "SCMP_ACT_ALLOW"},
            {"names": list(REFUSED), "action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM},
            *_clone_rules(),
            *_socket_rules(),
            *(
                _allow_when("personality", {"index": 0, "value": value, "op": "SCMP_CMP_EQ"})
                for value in _PERSONALITIES
            ),
        ],
    }


def _allow_when(name: str, *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": list(arguments)}


def _clone_rules() -> list[dict[str, Any]]:
    """Threads and processes, no namespaces. clone3 hides its flags in memory, so libraries are
    told that it does not exist and use clone.
    """
    mask = {"index": 0, "value": _NEW_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    return [
        _allow_when("clone", mask),
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]


def _socket_rules() -> list[dict[str, Any]]:
    """Local and IP sockets and route netlink. Other families answer EAFNOSUPPORT: with EPERM
    programs such as useradd stop, because they take it for a broken audit system.
    """
    allowed = [
        _allow_when("socket", {"index": 0, "value": family, "op": "SCMP_CMP_EQ"})
        for family in _IP_AND_LOCAL
    ]
    route = _allow_when(
        "socket",
        {"index": 0, "value": _AF_NETLINK, "op": "SCMP_CMP_EQ"},
        {"index": 2, "value": _NETLINK_ROUTE, "op": "SCMP_CMP_EQ"},
    )
    others = [
        *(
            _refuse_socket({"index": 0, "value": family, "op": "SCMP_CMP_EQ"})
            for family in range(_AF_NETLINK)
            if family not in _IP_AND_LOCAL
        ),
        _refuse_socket(
            {"index": 0, "value": _AF_NETLINK, "op": "SCMP_CMP_EQ"},
            {"index": 2, "value": _NETLINK_ROUTE, "op": "SCMP_CMP_NE"},
        ),
        _refuse_socket({"index": 0, "value": _AF_NETLINK, "op": "SCMP_CMP_GT"}),
    ]
    return [*allowed, route, *others]


def _refuse_socket(*arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "names": ["socket"],
        "action": "SCMP_ACT_ERRNO",
        "errnoRet": _EAFNOSUPPORT,
        "args": list(arguments),
    }
