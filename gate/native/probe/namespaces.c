/* Escapes through namespaces: new ones, and entering those that exist. */
#include "probe.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/wait.h>

int unshare(int);
int setns(int, int);

static int new_user(void)
{
    return outcome(unshare(CLONE_NEWUSER));
}
static int new_mount(void)
{
    return outcome(unshare(CLONE_NEWNS));
}
static int new_network(void)
{
    return outcome(unshare(CLONE_NEWNET));
}
static int new_pid(void)
{
    return outcome(unshare(CLONE_NEWPID));
}
static int new_ipc(void)
{
    return outcome(unshare(CLONE_NEWIPC));
}
static int new_uts(void)
{
    return outcome(unshare(CLONE_NEWUTS));
}
static int new_cgroup(void)
{
    return outcome(unshare(CLONE_NEWCGROUP));
}
static int new_time(void)
{
    return outcome(unshare(CLONE_NEWTIME));
}

static int reap(long child)
{
    if (child == 0)
        _exit(0);
    if (child < 0)
        return errno;
    waitpid((pid_t)child, NULL, 0);
    return 0;
}
static int clone_user(void)
{
    return reap(syscall(SYS_clone, (unsigned long)CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
}
static int clone_mount(void)
{
    return reap(syscall(SYS_clone, (unsigned long)CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0));
}
static int clone3_user(void)
{
    struct clone_args asked = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

    return reap(syscall(SYS_clone3, &asked, sizeof asked));
}
static int clone3_into_cgroup(void)
{
    struct clone_args asked = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = 0};

    return reap(syscall(SYS_clone3, &asked, sizeof asked));
}

static int enter(const char *path)
{
    int namespace = open(path, O_RDONLY | O_CLOEXEC), error;

    if (namespace < 0)
        return errno;
    error = outcome(setns(namespace, 0));
    close(namespace);
    return error;
}
static int enter_mount(void)
{
    return enter("/proc/1/ns/mnt");
}
static int enter_network(void)
{
    return enter("/proc/1/ns/net");
}
static int enter_user(void)
{
    return enter("/proc/1/ns/user");
}
static int enter_cgroup(void)
{
    return enter("/proc/1/ns/cgroup");
}
static int enter_by_pidfd(void)
{
    int init = (int)syscall(SYS_pidfd_open, 1, 0);

    return init < 0 ? errno : outcome(setns(init, CLONE_NEWNS | CLONE_NEWNET));
}
static int parent_user_namespace(void)
{
    int namespace = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);

    if (namespace < 0)
        return errno;
    return outcome_of_open(syscall(SYS_ioctl, namespace, 0xb702 /* NS_GET_PARENT */));
}
static int host_name(void)
{
    return outcome(sethostname("probe", 5));
}
static int domain_name(void)
{
    return outcome(setdomainname("probe", 5));
}
static int map_ids(void)
{
    return try_write("/proc/self/uid_map", "0 0 1\n", 6);
}
static int map_groups(void)
{
    return try_write("/proc/self/gid_map", "0 0 1\n", 6);
}
static int time_offsets(void)
{
    return try_write("/proc/self/timens_offsets", "1 100 0\n", 8);
}

const struct check namespace_checks[] = {
    {"cannot make a user namespace", new_user, NULL},
    {"cannot make a mount namespace", new_mount, NULL},
    {"cannot make a network namespace", new_network, NULL},
    {"cannot make a process namespace", new_pid, NULL},
    {"cannot make an IPC namespace", new_ipc, NULL},
    {"cannot make a host-name namespace", new_uts, NULL},
    {"cannot make a control-group namespace", new_cgroup, NULL},
    {"cannot make a time namespace", new_time, NULL},
    {"cannot clone into a user namespace", clone_user, NULL},
    {"cannot clone into a mount namespace", clone_mount, NULL},
    {"cannot clone3 into a user namespace", clone3_user, NULL},
    {"cannot clone3 into another control group", clone3_into_cgroup, NULL},
    {"cannot enter a mount namespace", enter_mount, NULL},
    {"cannot enter a network namespace", enter_network, NULL},
    {"cannot enter a user namespace", enter_user, NULL},
    {"cannot enter a control-group namespace", enter_cgroup, NULL},
    {"cannot enter namespaces by a process descriptor", enter_by_pidfd, NULL},
    {"cannot get hold of the parent user namespace", parent_user_namespace, NULL},
    {"cannot set the host name", host_name, NULL},
    {"cannot set the domain name", domain_name, NULL},
    {"cannot map itself to other user ids", map_ids, NULL},
    {"cannot map itself to other group ids", map_groups, NULL},
    {"cannot shift the clocks of a time namespace", time_offsets, NULL},
    {NULL, NULL, NULL},
};
