/* sandboxd._native: the module object, its constants and StepError.
 *
 * One Python function for each system-call step; which steps make a sandbox is decided in Python. */
#define _GNU_SOURCE
#include "step.h"

#include <errno.h>
#include <linux/loop.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>

static PyObject *step_error;

PyObject *step_failed(int error, const char *step, const char *subject, PyObject *kernel)
{
    PyObject *exception = NULL, *words = NULL;

    if (kernel == NULL && (kernel = PyTuple_New(0)) == NULL)
        return NULL;
    words = subject[0] != '\0' ? PyUnicode_FromFormat("%s %s", step, subject)
                               : PyUnicode_FromString(step);
    if (words == NULL)
        goto done;
    exception = PyObject_CallFunction(step_error, "is", error, strerror(error));
    if (exception == NULL || PyObject_SetAttrString(exception, "step", words) < 0 ||
        PyObject_SetAttrString(exception, "kernel", kernel) < 0)
        goto done;
    PyErr_SetObject(step_error, exception);
done:
    Py_XDECREF(exception);
    Py_XDECREF(words);
    Py_DECREF(kernel);
    return NULL;
}

static int add_constants(PyObject *module)
{
    return PyModule_AddIntMacro(module, CLONE_NEWNS) < 0 ||
                   PyModule_AddIntMacro(module, CLONE_NEWNET) < 0 ||
                   PyModule_AddIntMacro(module, MNT_DETACH) < 0 ||
                   PyModule_AddIntMacro(module, MOUNT_ATTR_RDONLY) < 0 ||
                   PyModule_AddIntMacro(module, MOUNT_ATTR_NOSUID) < 0 ||
                   PyModule_AddIntMacro(module, MOUNT_ATTR_NODEV) < 0 ||
                   PyModule_AddIntMacro(module, MOUNT_ATTR_NOEXEC) < 0 ||
                   PyModule_AddIntMacro(module, MOUNT_ATTR_NOATIME) < 0 ||
                   PyModule_AddIntMacro(module, OPEN_TREE_CLONE) < 0 ||
                   PyModule_AddIntMacro(module, LO_FLAGS_READ_ONLY) < 0 ||
                   PyModule_AddIntMacro(module, LO_FLAGS_AUTOCLEAR) < 0 ||
                   PyModule_AddIntMacro(module, LO_FLAGS_DIRECT_IO) < 0
               ? -1
               : 0;
}

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "sandboxd._native",
    .m_doc = "System-call steps of mounting, loop devices, credentials and processes.",
    .m_size = -1,
};

PyMODINIT_FUNC PyInit__native(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL)
        return NULL;
    step_error = PyErr_NewExceptionWithDoc("sandboxd._native.StepError",
                                           "A system-call step failed; see `step` and `kernel`.",
                                           PyExc_OSError, NULL);
    if (step_error == NULL || PyModule_AddObjectRef(module, "StepError", step_error) < 0 ||
        PyModule_AddFunctions(module, mount_methods) < 0 ||
        PyModule_AddFunctions(module, loop_methods) < 0 ||
        PyModule_AddFunctions(module, credential_methods) < 0 ||
        PyModule_AddFunctions(module, process_methods) < 0 || add_constants(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
