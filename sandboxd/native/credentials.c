/* Credentials: capability limits, the file-system ids of one thread, user namespaces.
 *
 * An overlay acts with the credentials of the thread that made its superblock. On idmapped layers
 * that thread's file-system ids must be mapped, or the kernel silently mounts read-only. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LAST_POSSIBLE_CAPABILITY = 63 };

/* Both calls return the former value and never fail; asking again tells whether it is set. */
static int change_fs_ids(unsigned int uid, unsigned int gid)
{
    syscall(SYS_setfsgid, gid);
    syscall(SYS_setfsuid, uid);
    if ((gid_t)syscall(SYS_setfsgid, gid) == gid && (uid_t)syscall(SYS_setfsuid, uid) == uid)
        return 0;
    errno = EPERM;
    return -1;
}

/* FSCONFIG_CMD_CREATE by a thread whose file-system ids are `uid` and `gid` for that moment.
 *
 * Ids and securebits belong to the calling thread. Without NO_SETUID_FIXUP, leaving file-system
 * uid 0 would also drop the capabilities that mounting needs; left set, it would be inherited by
 * every program that the thread starts later. */
static int create_as(int context, unsigned int uid, unsigned int gid)
{
    int former = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0), result, error;

    if (former < 0 || prctl(PR_SET_SECUREBITS, former | SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
        return -1;
    result = change_fs_ids(uid, gid);
    if (result == 0)
        result = fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
    error = errno;
    /* A thread that cannot get back must not go on with foreign ids. */
    if (change_fs_ids(0, 0) < 0 || prctl(PR_SET_SECUREBITS, former, 0, 0, 0) < 0)
        abort();
    errno = error;
    return result;
}

static PyObject *fsconfig_create_as(PyObject *self, PyObject *args)
{
    unsigned int uid, gid;
    int context, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "iII", &context, &uid, &gid))
        return NULL;
    BLOCKING(result, error, create_as(context, uid, gid));
    if (result < 0)
        return context_failed(error, context, "fsconfig create", "");
    Py_RETURN_NONE;
}

/* Drops everything outside `mask` from the bounding set of this thread and all it starts later,
 * then from its own permitted, effective and inheritable sets. */
static PyObject *limit_capabilities(PyObject *self, PyObject *args)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    unsigned long long mask;

    (void)self;
    if (!PyArg_ParseTuple(args, "K", &mask))
        return NULL;
    for (int number = 0; number <= LAST_POSSIBLE_CAPABILITY; number++) {
        if ((mask >> number & 1) != 0 || prctl(PR_CAPBSET_READ, number, 0, 0, 0) != 1)
            continue;
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
            return step_failed(errno, "prctl", "PR_CAPBSET_DROP", NULL);
    }
    if (syscall(SYS_capget, &header, sets) < 0)
        return step_failed(errno, "capget", "", NULL);
    for (int half = 0; half < 2; half++) {
        unsigned int keep = (unsigned int)(mask >> (32 * half));
        sets[half].permitted &= keep;
        sets[half].effective &= keep;
        sets[half].inheritable = 0;
    }
    if (syscall(SYS_capset, &header, sets) < 0)
        return step_failed(errno, "capset", "", NULL);
    Py_RETURN_NONE;
}

static int write_map(pid_t child, const char *name, unsigned int outside, unsigned int count)
{
    char path[64], line[64];
    int file, length, error;
    ssize_t written;

    snprintf(path, sizeof path, "/proc/%d/%s", child, name);
    length = snprintf(line, sizeof line, "0 %u %u\n", outside, count);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    written = write(file, line, (size_t)length);
    error = errno;
    close(file);
    errno = error;
    return written == length ? 0 : -1;
}

/* What the child of open_user_namespace does: it says that it is ready and waits to be killed.
 *
 * A thread that changed its file-system ids has made the process undumpable, which would keep the
 * parent from opening the child's files in /proc; the child undoes that for its own copy. */
static void wait_in_namespace(int ready)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (write(ready, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

/* A user namespace lives as long as something refers to it. A child that only waits is put into a
 * new one; once it is mapped, a descriptor holds it and the child goes. The raw clone shares no
 * memory, and the child makes system calls only. */
static int open_user_namespace(unsigned int outside, unsigned int count)
{
    char path[64], byte;
    int namespace = -1, ready[2], error;
    pid_t child;

    if (pipe2(ready, O_CLOEXEC) < 0)
        return -1;
    child = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, 0);
    if (child == 0)
        wait_in_namespace(ready[1]);
    error = errno;
    close(ready[1]);
    if (child > 0 && read(ready[0], &byte, 1) == 1 &&
        write_map(child, "uid_map", outside, count) == 0 &&
        write_map(child, "gid_map", outside, count) == 0) {
        snprintf(path, sizeof path, "/proc/%d/ns/user", child);
        namespace = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (child > 0) {
        error = errno;
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(ready[0]);
    errno = error;
    return namespace;
}

static PyObject *user_namespace(PyObject *self, PyObject *args)
{
    unsigned int outside, count;
    int namespace, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "II", &outside, &count))
        return NULL;
    BLOCKING(namespace, error, open_user_namespace(outside, count));
    if (namespace < 0)
        return step_failed(error, "clone", "user namespace", NULL);
    return PyLong_FromLong(namespace);
}

PyMethodDef credential_methods[] = {
    {"fsconfig_create_as", fsconfig_create_as, METH_VARARGS, "Makes the superblock with ids."},
    {"limit_capabilities", limit_capabilities, METH_VARARGS, "Keeps only the masked ones."},
    {"user_namespace", user_namespace, METH_VARARGS, "A mapped user namespace's descriptor."},
    {NULL, NULL, 0, NULL},
};
