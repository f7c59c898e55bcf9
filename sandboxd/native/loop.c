/* Loop devices: a backing file becomes a block device in one step (LOOP_CONFIGURE, Linux 5.8).
 *
 * Devices are opened relative to a descriptor of the host's /dev, because the daemon's own /dev is
 * a private tmpfs that has no loop nodes. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ATTEMPTS = 64 };

/* Opens loopN below `devices`. Returns the descriptor, or -1 with errno. */
static int open_device(int devices, long number, int read_only)
{
    char name[32];

    snprintf(name, sizeof name, "loop%ld", number);
    return openat(devices, name, (read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
}

/* Takes the next free device and ties it to `backing`. Returns its descriptor, or -1 with errno.
 * Another process may take the same number first, so EBUSY tries the next one. */
static int attach_next(int devices, int control, int backing, unsigned int flags, long *number)
{
    struct loop_config config = {.fd = (unsigned int)backing, .info = {.lo_flags = flags}};

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        int device;

        *number = ioctl(control, LOOP_CTL_GET_FREE);
        if (*number < 0)
            return -1;
        device = open_device(devices, *number, (flags & LO_FLAGS_READ_ONLY) != 0);
        if (device < 0)
            return -1;
        if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
            return device;
        int error = errno;
        close(device);
        errno = error;
        if (error != EBUSY)
            return -1;
    }
    errno = EBUSY;
    return -1;
}

static PyObject *attach(PyObject *self, PyObject *args)
{
    unsigned int flags;
    long number = -1;
    int devices, backing, control, device, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "iiI", &devices, &backing, &flags))
        return NULL;
    BLOCKING(control, error, openat(devices, "loop-control", O_RDWR | O_CLOEXEC));
    if (control < 0)
        return step_failed(error, "open", "loop-control", NULL);
    BLOCKING(device, error, attach_next(devices, control, backing, flags, &number));
    close(control);
    if (device < 0)
        return step_failed(error, "LOOP_CONFIGURE", "", NULL);
    return Py_BuildValue("il", device, number);
}

static PyObject *detach(PyObject *self, PyObject *args)
{
    int device, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "i", &device))
        return NULL;
    BLOCKING(result, error, ioctl(device, LOOP_CLR_FD));
    if (result < 0 && error != ENXIO)
        return step_failed(error, "LOOP_CLR_FD", "", NULL);
    Py_RETURN_NONE;
}

static PyObject *allocate(PyObject *self, PyObject *args)
{
    int file, result, error;
    long long size;

    (void)self;
    if (!PyArg_ParseTuple(args, "iL", &file, &size))
        return NULL;
    BLOCKING(result, error, fallocate(file, 0, 0, size));
    if (result < 0)
        return step_failed(error, "fallocate", "", NULL);
    Py_RETURN_NONE;
}

static PyObject *sync_file_system(PyObject *self, PyObject *args)
{
    int file, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "i", &file))
        return NULL;
    BLOCKING(result, error, syncfs(file));
    if (result < 0)
        return step_failed(error, "syncfs", "", NULL);
    Py_RETURN_NONE;
}

PyMethodDef loop_methods[] = {
    {"loop_attach", attach, METH_VARARGS, "Ties a file to a free loop device: (fd, number)."},
    {"loop_detach", detach, METH_VARARGS, "Clears a loop device; no error if it is clear."},
    {"fallocate", allocate, METH_VARARGS, "Reserves space for a whole file; never sparse."},
    {"syncfs", sync_file_system, METH_VARARGS, "Writes a file system to its device."},
    {NULL, NULL, 0, NULL},
};
