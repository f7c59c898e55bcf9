/* System calls, words and numbers without a C library, for programs that run inside a sandbox. */
#ifndef SANDBOXD_INSIDE_SYSTEM_H
#define SANDBOXD_INSIDE_SYSTEM_H

#include <asm/fcntl.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/fcntl.h>
#include <linux/stat.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMBER_BYTES = 24 };

/* ------------------------------------------------------------------ the kernel's side */

static long call(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;

    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4)
                     : "memory");
    return x0;
#else
#error "sandboxd runs on x86_64 and aarch64"
#endif
}

#define CALL3(name, a, b, c) call(__NR_##name, (long)(a), (long)(b), (long)(c), 0, 0)
#define CALL4(name, a, b, c, d) call(__NR_##name, (long)(a), (long)(b), (long)(c), (long)(d), 0)

/* The compiler may ask for these by name. */
void *memcpy(void *target, const void *source, size_t count);
void *memset(void *target, int value, size_t count);

__attribute__((visibility("hidden"))) void *memcpy(void *target, const void *source, size_t count)
{
    char *to = target;
    const char *from = source;

    while (count-- > 0)
        *(volatile char *)to++ = *from++;
    return target;
}

__attribute__((visibility("hidden"))) void *memset(void *target, int value, size_t count)
{
    char *to = target;

    while (count-- > 0)
        *(volatile char *)to++ = (char)value;
    return target;
}

/* ------------------------------------------------------------------ words and numbers */

static size_t length_of(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0')
        length++;
    return length;
}

static int same(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static int begins_with(const char *text, const char *begin)
{
    while (*begin != '\0' && *text == *begin) {
        text++;
        begin++;
    }
    return *begin == '\0';
}

static uint64_t number_from(const char *text)
{
    uint64_t number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (uint64_t)(*text - '0');
    return number;
}

/* Writes `number` and `after` at `at`; returns the place behind them. */
static char *put_number(char *at, int64_t number, char after)
{
    char digits[NUMBER_BYTES];
    int count = 0;
    uint64_t rest = number < 0 ? (uint64_t)-number : (uint64_t)number;

    do
        digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *at++ = '-';
    while (count > 0)
        *at++ = digits[--count];
    *at++ = after;
    return at;
}

static char *put_text(char *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    return at + length;
}

static void write_all(int file, const char *bytes, size_t count, const char *step);

__attribute__((noreturn)) static void leave(int status)
{
    for (;;)
        CALL3(exit_group, status, 0, 0);
}

/* Says which step failed with which errno, and ends. */
__attribute__((noreturn)) static void fail(const char *step, long result)
{
    char line[128], *at = put_text(line, step, length_of(step));

    *at++ = ' ';
    at = put_number(at, -result, '\n');
    CALL3(write, 2, line, at - line);
    leave(1);
}

static long checked(long result, const char *step)
{
    if (result < 0)
        fail(step, result);
    return result;
}

static void write_all(int file, const char *bytes, size_t count, const char *step)
{
    while (count > 0) {
        long written = CALL3(write, file, bytes, count);
        if (written == -EINTR)
            continue;
        checked(written, step);
        bytes += written;
        count -= (size_t)written;
    }
}

static long open_at(int directory, const char *path, int flags, int mode)
{
    return CALL4(openat, directory, path, flags | O_CLOEXEC, mode);
}

static void look_at(int directory, const char *name, int flags, struct statx *found)
{
    checked(call(__NR_statx, directory, (long)name, flags, STATX_BASIC_STATS, (long)found), "stat");
}

static int64_t modified_ms(const struct statx *found)
{
    return found->stx_mtime.tv_sec * 1000 + found->stx_mtime.tv_nsec / 1000000;
}

#endif
