/* Processes and namespaces: unshare, setns, subreaper, memory of the daemon itself.
 *
 * The daemon calls these while it has one thread; namespaces of a thread are its own. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

static PyObject *unshare_namespaces(PyObject *self, PyObject *args)
{
    int flags, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "i", &flags))
        return NULL;
    BLOCKING(result, error, unshare(flags));
    if (result < 0)
        return step_failed(error, "unshare", "", NULL);
    Py_RETURN_NONE;
}

static PyObject *enter_namespace(PyObject *self, PyObject *args)
{
    int descriptor, type, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "ii", &descriptor, &type))
        return NULL;
    BLOCKING(result, error, setns(descriptor, type));
    if (result < 0)
        return step_failed(error, "setns", "", NULL);
    Py_RETURN_NONE;
}

static PyObject *become_subreaper(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return step_failed(errno, "prctl", "PR_SET_CHILD_SUBREAPER", NULL);
    Py_RETURN_NONE;
}

static PyObject *die_with_parent(PyObject *self, PyObject *args)
{
    int signal;

    (void)self;
    if (!PyArg_ParseTuple(args, "i", &signal))
        return NULL;
    if (prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) < 0)
        return step_failed(errno, "prctl", "PR_SET_PDEATHSIG", NULL);
    Py_RETURN_NONE;
}

static PyObject *forbid_core_dumps(PyObject *self, PyObject *args)
{
    (void)self;
    (void)args;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return step_failed(errno, "prctl", "PR_SET_DUMPABLE", NULL);
    Py_RETURN_NONE;
}

/* By default the allocator learns to keep large blocks, in one arena for each thread: a few large
 * requests would leave a daemon of 40 MB with hundreds. Fixed thresholds give them back at once. */
static PyObject *return_large_blocks(PyObject *self, PyObject *args)
{
    enum { LARGE_BYTES = 256 * 1024, ARENAS = 2 };

    (void)self;
    (void)args;
    if (mallopt(M_MMAP_THRESHOLD, LARGE_BYTES) != 1 ||
        mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BYTES) != 1 || mallopt(M_ARENA_MAX, ARENAS) != 1)
        return step_failed(EINVAL, "mallopt", "", NULL);
    Py_RETURN_NONE;
}

PyMethodDef process_methods[] = {
    {"unshare", unshare_namespaces, METH_VARARGS, "Leaves the namespaces named by CLONE_ flags."},
    {"setns", enter_namespace, METH_VARARGS, "Enters the namespace of a descriptor."},
    {"become_subreaper", become_subreaper, METH_NOARGS, "Orphaned descendants become children."},
    {"die_with_parent", die_with_parent, METH_VARARGS, "This signal when the parent dies."},
    {"return_large_blocks", return_large_blocks, METH_NOARGS, "Freed memory leaves the process."},
    {"forbid_core_dumps", forbid_core_dumps, METH_NOARGS, "Memory never reaches a core file."},
    {NULL, NULL, 0, NULL},
};
