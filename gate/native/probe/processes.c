/* Escapes through processes: capabilities, identities, limits, priorities, reading others. */
#include "probe.h"

#include <dirent.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int gain_capability(int number)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct held[2];

    if (syscall(SYS_capget, &header, held) < 0)
        return errno;
    held[number / 32].effective |= 1U << (number % 32);
    held[number / 32].permitted |= 1U << (number % 32);
    return outcome(syscall(SYS_capset, &header, held));
}
static int gain_admin(void)
{
    return gain_capability(CAP_SYS_ADMIN);
}
static int gain_network(void)
{
    return gain_capability(CAP_NET_ADMIN);
}
static int gain_trace(void)
{
    return gain_capability(CAP_SYS_PTRACE);
}
static int gain_nodes(void)
{
    return gain_capability(CAP_MKNOD);
}
static int keep_ambient(void)
{
    return outcome(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
}
static int allow_new_privileges(void)
{
    return outcome(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
}
static int has_new_privileges(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? NOTHING_THERE : 0;
}
static int seccomp_off(void)
{
    return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER ? NOTHING_THERE : 0;
}
static int secure_bits(void)
{
    return outcome(prctl(PR_SET_SECUREBITS, SECBIT_KEEP_CAPS | SECBIT_NOROOT, 0, 0, 0));
}
static int change_memory_map(void)
{
    return outcome(prctl(PR_SET_MM, PR_SET_MM_BRK, 0, 0, 0));
}
static int become_unmapped(void)
{
    return outcome(setuid(70000));
}
static int group_unmapped(void)
{
    return outcome(setgid(70000));
}
static int become_other(void)
{
    return outcome(setuid(1000));
}
static int raise_limit(int what, rlim_t most)
{
    struct rlimit wanted = {.rlim_cur = most, .rlim_max = most};

    return outcome(setrlimit(what, &wanted));
}
static int more_files(void)
{
    struct rlimit held;

    getrlimit(RLIMIT_NOFILE, &held);
    return raise_limit(RLIMIT_NOFILE, held.rlim_max + 1);
}
static int core_files(void)
{
    return raise_limit(RLIMIT_CORE, RLIM_INFINITY);
}
static int locked_memory(void)
{
    struct rlimit held;

    getrlimit(RLIMIT_MEMLOCK, &held);
    if (held.rlim_max == RLIM_INFINITY)
        return NOTHING_THERE; /* Locked pages count against the memory limit all the same. */
    return raise_limit(RLIMIT_MEMLOCK, RLIM_INFINITY);
}
static int first_in_line(void)
{
    return outcome(setpriority(PRIO_PROCESS, 0, -20));
}
static int real_time(void)
{
    struct sched_param wanted = {.sched_priority = 1};

    return outcome(sched_setscheduler(0, SCHED_FIFO, &wanted));
}
static int real_time_disk(void)
{
    return outcome(syscall(SYS_ioprio_set, 1, 0, 1 << 13));
}
static int never_killed(void)
{
    return try_write("/proc/self/oom_score_adj", "-1000", 5);
}
static int trace_init(void)
{
    return outcome(ptrace(PTRACE_SEIZE, 1, NULL, NULL));
}
static int trace_parent(void)
{
    return outcome(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
}
/* The same address in the parent, which forked this process; nobody uses it there. */
static char spare;

static int read_memory(void)
{
    struct iovec here = {&spare, 1}, there = {&spare, 1};

    return outcome(syscall(SYS_process_vm_readv, getppid(), &here, 1UL, &there, 1UL, 0UL));
}
static int write_memory(void)
{
    struct iovec here = {&spare, 1}, there = {&spare, 1};

    return outcome(syscall(SYS_process_vm_writev, getppid(), &here, 1UL, &there, 1UL, 0UL));
}
static int compare_kernel_objects(void)
{
    return outcome(syscall(SYS_kcmp, getpid(), getppid(), 0, 0UL, 0UL));
}
static int take_descriptor(void)
{
    int parent = (int)syscall(SYS_pidfd_open, getppid(), 0);

    return parent < 0 ? errno : outcome_of_open(syscall(SYS_pidfd_getfd, parent, 0, 0));
}
static int advise_other(void)
{
    struct iovec nothing = {NULL, 0};

    return outcome(syscall(SYS_process_madvise, -1, &nothing, 1UL, 3, 0));
}
static int inherited_descriptors(void)
{
    for (int number = 3; number < 256; number++) {
        char link[32], target[256];
        ssize_t length;

        if (fcntl(number, F_GETFD) < 0)
            continue;
        snprintf(link, sizeof link, "/proc/self/fd/%d", number);
        length = readlink(link, target, sizeof target - 1);
        if (length > 0 && strncmp(target, "pipe:", 5) != 0)
            return 0;
    }
    return NOTHING_THERE;
}
static int foreign_processes(void)
{
    struct dirent *entry;
    DIR *directory = opendir("/proc");
    char comm[32] = "";
    int file, found = 0;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        found += atoi(entry->d_name) > 0;
    file = open("/proc/1/comm", O_RDONLY);
    if (directory == NULL || file < 0 || read(file, comm, sizeof comm - 1) <= 0)
        return errno;
    return strcmp(comm, "init\n") == 0 && found < 16 ? NOTHING_THERE : 0;
}
static int signal_beyond(void)
{
    /* Every process that exists on a busy node, seen from here: none of them may be there. */
    for (pid_t other = 100; other < 4000; other++)
        if (other != getpid() && other != getppid() && kill(other, 0) == 0)
            return 0;
    return ESRCH;
}
static int set_user_id_program(void)
{
    struct stat found;

    if (stat("/srv/gate/setuid", &found) < 0 || !(found.st_mode & S_ISUID))
        return NOTHING_THERE;
    if (setgroups(0, NULL) < 0 || setresgid(1000, 1000, 1000) < 0 ||
        setresuid(1000, 1000, 1000) < 0)
        return errno;
    return system("test \"$(/srv/gate/setuid id -u)\" = 0") == 0 ? 0 : EPERM;
}

const struct check process_checks[] = {
    {"cannot gain the right to administrate", gain_admin, NULL},
    {"cannot gain the right to administrate networks", gain_network, NULL},
    {"cannot gain the right to trace", gain_trace, NULL},
    {"cannot gain the right to make nodes", gain_nodes, NULL},
    {"cannot hand rights on as ambient", keep_ambient, NULL},
    {"cannot allow new privileges again", allow_new_privileges, NULL},
    {"cannot run without 'no new privileges'", has_new_privileges, NULL},
    {"cannot run without a system-call filter", seccomp_off, NULL},
    {"cannot change its secure bits", secure_bits, NULL},
    {"cannot rewrite its memory map", change_memory_map, NULL},
    {"cannot become a user outside its range", become_unmapped, NULL},
    {"cannot join a group outside its range", group_unmapped, NULL},
    {"cannot become another user of the sandbox", become_other,
     "users of a sandbox are all inside its own range"},
    {"cannot raise the limit of open files", more_files, NULL},
    {"cannot raise the limit of core files", core_files, NULL},
    {"cannot raise the limit of locked memory", locked_memory, NULL},
    {"cannot jump the queue for the processor", first_in_line, NULL},
    {"cannot become a real-time process", real_time, NULL},
    {"cannot become first in line for the disk", real_time_disk, NULL},
    {"cannot exempt itself from the memory killer", never_killed, NULL},
    {"cannot trace its init process", trace_init, NULL},
    {"cannot trace its parent", trace_parent, NULL},
    {"cannot read another process's memory", read_memory, NULL},
    {"cannot write another process's memory", write_memory, NULL},
    {"cannot compare kernel objects", compare_kernel_objects, NULL},
    {"cannot take a descriptor from another process", take_descriptor, NULL},
    {"cannot advise on another process's memory", advise_other, NULL},
    {"cannot find an inherited descriptor", inherited_descriptors, NULL},
    {"cannot see a process of the node", foreign_processes, NULL},
    {"cannot signal a process of the node", signal_beyond, NULL},
    {"cannot gain root by a set-user-id program", set_user_id_program, NULL},
    {NULL, NULL, NULL},
};
