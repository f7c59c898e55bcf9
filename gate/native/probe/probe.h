/* The escape probe: what every file of it shares.
 *
 * A check is a sentence about what the sandbox cannot do and a function that tries to do it. The
 * function returns 0 when it succeeded (the sandbox is open), otherwise the errno that stopped it,
 * or NOTHING_THERE when there was nothing to try it on. Each check runs in a child of its own. */
#ifndef GATE_PROBE_H
#define GATE_PROBE_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { NOTHING_THERE = 255 };

struct check {
    const char *sentence;
    int (*attempt)(void);
    /* Why an attempt may succeed; NULL when it must not. */
    const char *harmless_because;
};

extern const struct check mount_checks[], namespace_checks[], device_checks[], kernel_checks[],
    process_checks[], network_checks[], proc_checks[], file_checks[];

/* 0 when a system call returned 0 or more, otherwise its errno. */
static inline int outcome(long result)
{
    return result < 0 ? errno : 0;
}

/* Like outcome, for calls that return a descriptor nobody needs. */
static inline int outcome_of_open(long descriptor)
{
    if (descriptor < 0)
        return errno;
    close((int)descriptor);
    return 0;
}

/* Opens and closes a path. */
static inline int try_open(const char *path, int flags)
{
    return outcome_of_open(open(path, flags | O_CLOEXEC | O_NONBLOCK));
}

/* Writes a word into a file of the kernel. */
static inline int try_write(const char *path, const char *word, size_t length)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    int error;

    if (file < 0)
        return errno;
    error = outcome(write(file, word, length));
    close(file);
    return error;
}

/* Reads a file that must be masked: an empty read counts as blocked. */
static inline int try_read(const char *path)
{
    char byte[16];
    ssize_t length;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error;

    if (file < 0)
        return errno;
    length = read(file, byte, sizeof byte);
    error = length < 0 ? errno : length == 0 ? NOTHING_THERE : 0;
    close(file);
    return error;
}

#endif
