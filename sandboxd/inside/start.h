/* The beginning of a sandbox's first process and of each command in it.
 *
 * A command waits here until sandboxd has put it into a control group of its own. Then it goes to
 * its directory, becomes its user, learns its home and is executed; what fails is told to sandboxd
 * by name, before anything of the command has run. */
#ifndef SANDBOXD_INSIDE_START_H
#define SANDBOXD_INSIDE_START_H

#include "system.h"

enum {
    CONTROL = 3, /* a socket to sandboxd, closed by the execution */
    TEXT_BYTES = 1024 * 1024,
    WORDS = 4096,
    GROUPS = 64,
    PLACE_BYTES = 4352,
};

struct slice {
    const char *at;
    size_t length;
};

/* ------------------------------------------------------------------ small texts */

/* A whole regular file of the sandbox; 0 when it is missing, something else, or too long. */
static size_t read_text(const char *path, char *text)
{
    struct statx found;
    size_t length = 0;
    long got = 0, file = open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

    if (file < 0)
        return 0;
    if (call(__NR_statx, file, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&found) == 0 &&
        (found.stx_mode & S_IFMT) == S_IFREG)
        while (length < TEXT_BYTES &&
               (got = CALL3(read, file, text + length, TEXT_BYTES - length)) > 0)
            length += (size_t)got;
    CALL3(close, file, 0, 0);
    return got == 0 ? length : 0;
}

static struct slice slice_of(const char *text)
{
    struct slice whole = {text, length_of(text)};
    return whole;
}

static int alike(struct slice a, struct slice b)
{
    if (a.length != b.length)
        return 0;
    for (size_t index = 0; index < a.length; index++)
        if (a.at[index] != b.at[index])
            return 0;
    return 1;
}

static int is_number(struct slice word, uint64_t *number)
{
    *number = 0;
    for (size_t index = 0; index < word.length; index++) {
        if (word.at[index] < '0' || word.at[index] > '9')
            return 0;
        *number = *number * 10 + (uint64_t)(word.at[index] - '0');
    }
    return word.length > 0 && word.length < 10;
}

/* What stands before the next `end` in `rest`, which begins behind it afterwards. */
static struct slice take_until(struct slice *rest, char end)
{
    struct slice taken = {rest->at, 0};

    while (taken.length < rest->length && rest->at[taken.length] != end)
        taken.length++;
    rest->at += taken.length;
    rest->length -= taken.length;
    if (rest->length > 0) {
        rest->at++;
        rest->length--;
    }
    return taken;
}

static struct slice field(struct slice line, int index)
{
    struct slice taken = take_until(&line, ':');

    while (index-- > 0)
        taken = take_until(&line, ':');
    return taken;
}

/* The line of a passwd(5) or group(5) text whose field `index` is `wanted`; empty without one. */
static struct slice find_line(struct slice text, int index, struct slice wanted)
{
    while (text.length > 0) {
        struct slice line = take_until(&text, '\n');
        if (line.length > 0 && alike(field(line, index), wanted))
            return line;
    }
    return text;
}

/* ------------------------------------------------------------------ names that resolve */

static int names_host(struct slice text, struct slice host)
{
    while (text.length > 0) {
        struct slice whole = take_until(&text, '\n'), line = take_until(&whole, '#');
        int words = 0;
        while (line.length > 0) {
            size_t length = 0;
            struct slice word;
            while (line.length > 0 && (*line.at == ' ' || *line.at == '\t' || *line.at == '\r')) {
                line.at++;
                line.length--;
            }
            while (length < line.length && line.at[length] != ' ' && line.at[length] != '\t' &&
                   line.at[length] != '\r')
                length++;
            word.at = line.at;
            word.length = length;
            line.at += length;
            line.length -= length;
            if (length > 0 && words++ > 0 && alike(word, host))
                return 1;
        }
    }
    return 0;
}

/* Images come without /etc/hosts, or with an empty one: what is missing there is added at the end.
 * Without it neither localhost nor the sandbox's own name would resolve. No reason not to start. */
static void complete_hosts(const char *host)
{
    static const char local[] = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
    static char text[TEXT_BYTES], line[512];
    struct slice known = {text, read_text("/etc/hosts", text)};
    struct statx found;
    char *at = line;
    long file;

    if (known.length > 0 && text[known.length - 1] != '\n')
        *at++ = '\n';
    if (!names_host(known, slice_of("localhost")))
        at = put_text(at, local, sizeof local - 1);
    if (!names_host(known, slice_of(host)) && length_of(host) < 64) {
        at = put_text(at, "127.0.0.1\t", 10);
        at = put_text(at, host, length_of(host));
        *at++ = '\n';
    }
    if (at - line <= 1)
        return;
    file = open_at(AT_FDCWD, "/etc/hosts", O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY,
                   0644);
    if (file < 0)
        return;
    if (call(__NR_statx, file, (long)"", AT_EMPTY_PATH, STATX_BASIC_STATS, (long)&found) == 0 &&
        (found.stx_mode & S_IFMT) == S_IFREG && found.stx_size == known.length)
        CALL3(write, file, line, at - line);
    CALL3(close, file, 0, 0);
}

/* The first process: `files init HOST PROGRAM ...`. */
__attribute__((noreturn)) static void start_init(char *const *words, char *const *environment)
{
    complete_hosts(words[0]);
    fail("exec", CALL3(execve, words[1], words + 1, environment));
}

/* ------------------------------------------------------------------ the user */

__attribute__((noreturn)) static void refuse(const char *step, long result)
{
    char line[128], *at = put_text(line, step, length_of(step));

    *at++ = ' ';
    at = put_number(at, -result, '\n');
    CALL3(write, CONTROL, line, at - line);
    leave(1);
}

static uint32_t number_or_refuse(struct slice word)
{
    uint64_t number;

    if (!is_number(word, &number))
        refuse("user", -ENOENT);
    return (uint32_t)number;
}

/* The groups of which `name` is a member. */
static long find_groups(struct slice text, struct slice name, uint32_t *groups)
{
    long count = 0;
    uint64_t number;

    while (text.length > 0 && count < GROUPS) {
        struct slice line = take_until(&text, '\n'), members = field(line, 3);
        while (members.length > 0)
            if (alike(take_until(&members, ','), name) && is_number(field(line, 2), &number)) {
                groups[count++] = (uint32_t)number;
                break;
            }
    }
    return count;
}

/* Becomes USER[:GROUP], each a name or a number, by the sandbox's own passwd and group. From root
 * to another user the kernel takes all capabilities away. */
static void become(const char *wanted)
{
    static char passwd[TEXT_BYTES], group[TEXT_BYTES];
    struct slice users = {passwd, read_text("/etc/passwd", passwd)};
    struct slice teams = {group, read_text("/etc/group", group)};
    struct slice rest = slice_of(wanted), user = take_until(&rest, ':'), team = rest, line;
    uint32_t groups[GROUPS], uid, gid = 0;
    uint64_t number;
    long count = 0;

    line = find_line(users, 0, user);
    if (line.length == 0 && is_number(user, &number))
        line = find_line(users, 2, user);
    uid = number_or_refuse(line.length > 0 ? field(line, 2) : user);
    if (line.length > 0)
        gid = number_or_refuse(field(line, 3));
    if (team.length > 0) {
        line = find_line(teams, 0, team);
        gid = number_or_refuse(line.length > 0 ? field(line, 2) : team);
    } else if (line.length > 0) {
        count = find_groups(teams, field(line, 0), groups);
    }
    if ((number = (uint64_t)-CALL3(setgroups, count, groups, 0)) != 0 ||
        (number = (uint64_t)-CALL3(setresgid, gid, gid, gid)) != 0 ||
        (number = (uint64_t)-CALL3(setresuid, uid, uid, uid)) != 0)
        refuse("user", -(long)number);
}

/* ------------------------------------------------------------------ the environment */

static const char *value_of(char *const *environment, const char *name)
{
    size_t length = length_of(name);

    for (; *environment != NULL; environment++) {
        struct slice begin = {*environment, length_of(*environment)};
        if (begin.length > length && begin.at[length] == '=') {
            begin.length = length;
            if (alike(begin, slice_of(name)))
                return *environment + length + 1;
        }
    }
    return NULL;
}

/* The same with HOME, unless somebody has said one: the user's own, as the sandbox's passwd has it. */
static char *const *with_home(char *const *environment)
{
    static char *words[WORDS], home[PLACE_BYTES], passwd[TEXT_BYTES], digits[NUMBER_BYTES + 1];
    long uid = CALL3(getuid, 0, 0, 0);
    struct slice users, line, place;
    const char *said = value_of(environment, "HOME");
    char *at = put_text(home, "HOME=", 5);
    size_t count = 0;

    if (said != NULL && *said != '\0')
        return environment;
    put_number(digits, uid, '\0');
    users.at = passwd;
    users.length = read_text("/etc/passwd", passwd);
    line = find_line(users, 2, slice_of(digits));
    place = field(line, 5);
    if (place.length == 0 || place.length > PLACE_BYTES - 8)
        place = slice_of(uid == 0 ? "/root" : "/");
    at = put_text(at, place.at, place.length);
    *at = '\0';
    words[count++] = home;
    for (; *environment != NULL && count < WORDS - 1; environment++)
        if (!begins_with(*environment, "HOME="))
            words[count++] = *environment;
    return words;
}

/* ------------------------------------------------------------------ the execution */

/* Says why; a file that is there and yet "not found" lacks its interpreter or loader. */
__attribute__((noreturn)) static void refuse_program(const char *path, long result)
{
    if (result == -ENOENT && CALL3(faccessat, AT_FDCWD, path, 0) == 0)
        refuse("interpreter", result);
    refuse("exec", result);
}

/* As execvp(3), but a text without an interpreter is not given to a shell. */
__attribute__((noreturn)) static void search(char *const *words, char *const *environment)
{
    static char path[PLACE_BYTES];
    const char *listed = value_of(environment, "PATH");
    struct slice places = slice_of(listed != NULL ? listed : "/usr/bin:/bin");
    struct slice name = slice_of(words[0]);
    long seen = -ENOENT;

    while (places.length > 0) {
        struct slice place = take_until(&places, ':');
        char *at = path;
        long result;
        if (place.length + name.length > PLACE_BYTES - 8)
            continue;
        if (place.length > 0) {
            at = put_text(at, place.at, place.length);
            *at++ = '/';
        }
        at = put_text(at, name.at, name.length);
        *at = '\0';
        result = CALL3(execve, path, words, environment);
        if (result == -EACCES)
            seen = result;
        else if ((result != -ENOENT && result != -ENOTDIR) ||
                 CALL3(faccessat, AT_FDCWD, path, 0) == 0)
            refuse_program(path, result);
    }
    refuse(seen == -ENOENT ? "path" : "exec", seen);
}

/* A command: `files start USER DIRECTORY PROGRAM ...`; an empty USER is root. */
__attribute__((noreturn)) static void start_command(char *const *words, char *const *environment)
{
    int has_slash = 0;
    char go;
    long result;

    /* sandboxd hangs up instead where the command must not run. */
    if (CALL3(read, CONTROL, &go, 1) != 1)
        leave(1);
    CALL3(fcntl, CONTROL, F_SETFD, FD_CLOEXEC);
    /* As root, as other runtimes do: the image's directory may be closed to another user. */
    if ((result = CALL3(chdir, words[1], 0, 0)) < 0)
        refuse("directory", result);
    if (*words[0] != '\0')
        become(words[0]);
    environment = with_home(environment);
    words += 2;
    for (const char *at = words[0]; *at != '\0'; at++)
        has_slash |= *at == '/';
    CALL3(write, CONTROL, "+", 1);
    if (*words[0] == '\0')
        refuse("exec", -ENOENT);
    if (!has_slash)
        search(words, environment);
    refuse_program(words[0], CALL3(execve, words[0], words, environment));
}

#endif
