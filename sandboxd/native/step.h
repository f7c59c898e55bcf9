/* What every file of sandboxd._native shares: how a failed system-call step becomes an exception.
 *
 * StepError is an OSError with two more attributes: `step`, the system call and its subject in a
 * few words, and `kernel`, the lines the kernel wrote into the file-system context's log. */
#ifndef SANDBOXD_STEP_H
#define SANDBOXD_STEP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Raises StepError for `error` and returns NULL. `kernel` is a tuple (stolen) or NULL. */
PyObject *step_failed(int error, const char *step, const char *subject, PyObject *kernel);

/* The same for a step on a file-system context, with the lines of its log. */
PyObject *context_failed(int error, int context, const char *step, const char *subject);

extern PyMethodDef mount_methods[];
extern PyMethodDef loop_methods[];
extern PyMethodDef credential_methods[];
extern PyMethodDef process_methods[];

/* Runs a call that may block without the interpreter lock and keeps its errno. */
#define BLOCKING(result, error, call)  \
    do {                               \
        Py_BEGIN_ALLOW_THREADS         \
        (result) = (call);             \
        (error) = errno;               \
        Py_END_ALLOW_THREADS           \
    } while (0)

#endif
