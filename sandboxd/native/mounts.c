/* The mount interface of Linux 5.2 and later, one function for each step.
 *
 * A mount is built on a file-system context (fsopen, fsconfig..., fsmount) and is a descriptor
 * until move_mount puts it under a path; closing the descriptor of a mount that was never moved
 * unmounts it. All descriptors are close-on-exec. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The lines waiting in the log of a file-system context, as a tuple of str. NULL on no memory. */
static PyObject *context_log(int context)
{
    char line[1024];
    ssize_t length;
    PyObject *lines = PyList_New(0), *result;

    if (lines == NULL)
        return NULL;
    while ((length = read(context, line, sizeof line)) > 0) {
        PyObject *text = PyUnicode_DecodeUTF8(line, length, "replace");
        if (text == NULL || PyList_Append(lines, text) < 0) {
            Py_XDECREF(text);
            Py_DECREF(lines);
            return NULL;
        }
        Py_DECREF(text);
    }
    result = PyList_AsTuple(lines);
    Py_DECREF(lines);
    return result;
}

PyObject *context_failed(int error, int context, const char *step, const char *subject)
{
    PyObject *kernel = context_log(context);

    return kernel == NULL ? NULL : step_failed(error, step, subject, kernel);
}

static PyObject *open_context(PyObject *self, PyObject *args)
{
    const char *type;
    int context, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "s", &type))
        return NULL;
    BLOCKING(context, error, fsopen(type, FSOPEN_CLOEXEC));
    if (context < 0)
        return step_failed(error, "fsopen", type, NULL);
    return PyLong_FromLong(context);
}

static PyObject *set_string(PyObject *self, PyObject *args)
{
    const char *key, *value;
    int context, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "iss", &context, &key, &value))
        return NULL;
    BLOCKING(result, error, fsconfig(context, FSCONFIG_SET_STRING, key, value, 0));
    if (result < 0)
        return context_failed(error, context, "fsconfig string", key);
    Py_RETURN_NONE;
}

static PyObject *set_flag(PyObject *self, PyObject *args)
{
    const char *key;
    int context, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "is", &context, &key))
        return NULL;
    BLOCKING(result, error, fsconfig(context, FSCONFIG_SET_FLAG, key, NULL, 0));
    if (result < 0)
        return context_failed(error, context, "fsconfig flag", key);
    Py_RETURN_NONE;
}

static PyObject *set_descriptor(PyObject *self, PyObject *args)
{
    const char *key;
    int context, descriptor, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "isi", &context, &key, &descriptor))
        return NULL;
    BLOCKING(result, error, fsconfig(context, FSCONFIG_SET_FD, key, NULL, descriptor));
    if (result < 0)
        return context_failed(error, context, "fsconfig descriptor", key);
    Py_RETURN_NONE;
}

static PyObject *create_superblock(PyObject *self, PyObject *args)
{
    int context, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "i", &context))
        return NULL;
    BLOCKING(result, error, fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
    if (result < 0)
        return context_failed(error, context, "fsconfig create", "");
    Py_RETURN_NONE;
}

static PyObject *make_mount(PyObject *self, PyObject *args)
{
    unsigned int attributes;
    int context, mount, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "iI", &context, &attributes))
        return NULL;
    BLOCKING(mount, error, fsmount(context, FSMOUNT_CLOEXEC, attributes));
    if (mount < 0)
        return context_failed(error, context, "fsmount", "");
    return PyLong_FromLong(mount);
}

static PyObject *attach_mount(PyObject *self, PyObject *args)
{
    const char *path;
    int mount, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "is", &mount, &path))
        return NULL;
    BLOCKING(result, error, move_mount(mount, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
    if (result < 0)
        return step_failed(error, "move_mount", path, NULL);
    Py_RETURN_NONE;
}

static PyObject *clone_tree(PyObject *self, PyObject *args)
{
    const char *path;
    int directory, tree, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "is", &directory, &path))
        return NULL;
    BLOCKING(tree, error,
             open_tree(directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH));
    if (tree < 0)
        return step_failed(error, "open_tree", path, NULL);
    return PyLong_FromLong(tree);
}

static PyObject *map_ids(PyObject *self, PyObject *args)
{
    struct mount_attr change = {.attr_set = MOUNT_ATTR_IDMAP};
    int mount, user_namespace, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "ii", &mount, &user_namespace))
        return NULL;
    change.userns_fd = (unsigned int)user_namespace;
    BLOCKING(result, error, mount_setattr(mount, "", AT_EMPTY_PATH, &change, sizeof change));
    if (result < 0)
        return step_failed(error, "mount_setattr idmap", "", NULL);
    Py_RETURN_NONE;
}

static PyObject *make_all_private(PyObject *self, PyObject *args)
{
    int result, error;

    (void)self;
    (void)args;
    BLOCKING(result, error, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    if (result < 0)
        return step_failed(error, "mount rprivate", "/", NULL);
    Py_RETURN_NONE;
}

static PyObject *bind_read_only(PyObject *self, PyObject *args)
{
    struct mount_attr change = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID};
    const char *source, *target;
    int tree, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "ss", &source, &target))
        return NULL;
    BLOCKING(tree, error, open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    if (tree < 0)
        return step_failed(error, "open_tree", source, NULL);
    BLOCKING(result, error, mount_setattr(tree, "", AT_EMPTY_PATH, &change, sizeof change));
    if (result == 0)
        BLOCKING(result, error, move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
    close(tree);
    if (result < 0)
        return step_failed(error, "bind read-only", target, NULL);
    Py_RETURN_NONE;
}

static PyObject *detach_mount(PyObject *self, PyObject *args)
{
    const char *path;
    int flags, result, error;

    (void)self;
    if (!PyArg_ParseTuple(args, "si", &path, &flags))
        return NULL;
    BLOCKING(result, error, umount2(path, flags | UMOUNT_NOFOLLOW));
    if (result < 0)
        return step_failed(error, "umount2", path, NULL);
    Py_RETURN_NONE;
}

PyMethodDef mount_methods[] = {
    {"fsopen", open_context, METH_VARARGS, "A new file-system context; returns its descriptor."},
    {"fsconfig_string", set_string, METH_VARARGS, "Sets key=value on a context."},
    {"fsconfig_flag", set_flag, METH_VARARGS, "Sets a key without value on a context."},
    {"fsconfig_fd", set_descriptor, METH_VARARGS, "Sets key to an open descriptor."},
    {"fsconfig_create", create_superblock, METH_VARARGS, "Makes the superblock."},
    {"fsmount", make_mount, METH_VARARGS, "A detached mount; returns its descriptor."},
    {"move_mount", attach_mount, METH_VARARGS, "Attaches a detached mount under a path."},
    {"open_tree_clone", clone_tree, METH_VARARGS, "A detached copy of one mount."},
    {"mount_idmap", map_ids, METH_VARARGS, "Maps the ids of a detached mount."},
    {"make_all_private", make_all_private, METH_NOARGS, "Stops propagation of all mounts."},
    {"bind_read_only", bind_read_only, METH_VARARGS, "Binds one file or directory read-only."},
    {"umount2", detach_mount, METH_VARARGS, "Unmounts a path; symbolic links are not followed."},
    {NULL, NULL, 0, NULL},
};
