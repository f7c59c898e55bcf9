/* The program that reads, writes and lists files inside a sandbox, and starts what runs there.
 *
 * sandboxd runs it as a command of the sandbox, so a path is resolved by the sandbox's own kernel
 * view and never on the node. It brings everything with it: no C library, no loader, nothing of the
 * image. Built as a shared object with an entry point and without relocations, which the kernel
 * starts like any static program.
 *
 *   files read PATH OFFSET LIMIT          stdout: "SIZE MODE MTIME_MS\n", then the bytes
 *   files write PATH MODE PARENTS         stdin: the whole content; stdout: "SIZE REPLACED\n"
 *                                         MODE "-": that of the file that is replaced, or 0644
 *   files list PATH LIMIT                 stdout: "TYPE MODE SIZE UID GID MTIME_MS NAME\0" each
 *   files init HOST PROGRAM ...           see start.h
 *   files start USER DIRECTORY PROGRAM ...
 *
 * A failure is "STEP ERRNO\n" on stderr and exit status 1. */
#include "start.h"
#include "system.h"

enum {
    PATH_BYTES = 4352,
    PATH_ROOM = PATH_BYTES - 64,
    CHUNK_BYTES = 65536,
    TRIES = 16,
    LINKS = 40,
    NEW_MODE = 0644,
};

/* ------------------------------------------------------------------ read */

static void read_file(const char *path, uint64_t offset, uint64_t limit)
{
    static char chunk[CHUNK_BYTES];
    struct statx found;
    char *at = chunk;
    /* Non-blocking, so that a FIFO cannot hold the program before its type is known. */
    long file = checked(open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0), "open");

    look_at((int)file, "", AT_EMPTY_PATH, &found);
    if ((found.stx_mode & S_IFMT) == S_IFDIR)
        fail("type", -EISDIR);
    if ((found.stx_mode & S_IFMT) != S_IFREG)
        fail("type", -EINVAL);
    at = put_number(at, (int64_t)found.stx_size, ' ');
    at = put_number(at, found.stx_mode & 07777, ' ');
    at = put_number(at, modified_ms(&found), '\n');
    write_all(1, chunk, (size_t)(at - chunk), "output");
    while (limit > 0) {
        uint64_t wanted = limit < CHUNK_BYTES ? limit : CHUNK_BYTES;
        long got = checked(CALL4(pread64, file, chunk, wanted, offset), "read");
        if (got == 0)
            break;
        write_all(1, chunk, (size_t)got, "output");
        offset += (uint64_t)got;
        limit -= (uint64_t)got;
    }
}

/* ------------------------------------------------------------------ write */

/* The place of the last slash, which separates directory and name. */
static size_t last_slash(const char *path)
{
    size_t slash = 0;

    for (size_t index = 0; path[index] != '\0'; index++)
        if (path[index] == '/')
            slash = index;
    return slash;
}

static void set_path(char *real, const char *path)
{
    size_t length = length_of(path);

    if (length >= PATH_ROOM)
        fail("path", -ENAMETOOLONG);
    memcpy(real, path, length + 1);
}

/* Follows a link that leads to nothing yet: `real` becomes the place that it names. */
static int follow_dangling(char *real)
{
    char target[PATH_BYTES];
    size_t slash = last_slash(real), length;
    long got = CALL4(readlinkat, AT_FDCWD, real, target, PATH_ROOM);

    if (got == -EINVAL || got == -ENOENT || got == -ENOTDIR)
        return 0;
    checked(got, "readlink");
    length = (size_t)got;
    if (target[0] == '/')
        slash = 0;
    else
        slash++;
    if (slash + length >= PATH_ROOM)
        fail("path", -ENAMETOOLONG);
    memcpy(real + slash, target, length);
    real[slash + length] = '\0';
    return 1;
}

/* Where the content belongs: symbolic links are followed once, here, also one that leads to nothing
 * yet. Returns whether there is a file; `links` counts the dangling links before the place. */
static int resolve(const char *path, char *real, struct statx *found, int *links)
{
    char link[64], *at = put_text(link, "/proc/self/fd/", 14);
    long length, file = open_at(AT_FDCWD, path, O_PATH, 0);

    *links = 0;
    if (file == -ENOENT) {
        set_path(real, path);
        while (follow_dangling(real))
            if (++*links > LINKS)
                fail("path", -ELOOP);
        return 0;
    }
    checked(file, "open");
    look_at((int)file, "", AT_EMPTY_PATH, found);
    if ((found->stx_mode & S_IFMT) == S_IFDIR)
        fail("type", -EISDIR);
    if ((found->stx_mode & S_IFMT) != S_IFREG)
        fail("type", -EINVAL);
    at = put_number(at, file, '\0');
    length = checked(CALL4(readlinkat, AT_FDCWD, link, real, PATH_ROOM), "readlink");
    if (length >= PATH_ROOM)
        fail("path", -ENAMETOOLONG);
    real[length] = '\0';
    CALL3(close, file, 0, 0);
    return 1;
}

/* Opens the directory of `path`; with `create` its missing parts are made first, each durably. */
static long open_parent(const char *path, int create, const char *step)
{
    char part[PATH_BYTES];
    size_t end = last_slash(path);
    long directory = checked(open_at(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0), "open root");

    for (size_t start = 1; start <= end; start++) {
        size_t stop = start;
        long next;

        while (stop < end && path[stop] != '/')
            stop++;
        if (stop > start) {
            memcpy(part, path + start, stop - start);
            part[stop - start] = '\0';
            if (create && CALL3(mkdirat, directory, part, 0755) == 0)
                checked(CALL3(fsync, directory, 0, 0), "fsync parent");
            next = checked(open_at((int)directory, part, O_RDONLY | O_DIRECTORY, 0), step);
            CALL3(close, directory, 0, 0);
            directory = next;
        }
        start = stop;
    }
    return directory;
}

static void temporary_name(char *name)
{
    unsigned char random[8];
    char *at = put_text(name, ".sandboxd-", 10);

    checked(CALL3(getrandom, random, sizeof random, 0), "getrandom");
    for (size_t index = 0; index < sizeof random; index++)
        at = put_number(at, random[index], index + 1 < sizeof random ? '-' : '\0');
}

static uint64_t copy_input(int file, int directory, const char *temporary)
{
    static char chunk[CHUNK_BYTES];
    uint64_t total = 0;
    long got;

    while ((got = checked(CALL3(read, 0, chunk, CHUNK_BYTES), "input")) > 0) {
        for (long done = 0; done < got;) {
            long written = CALL3(write, file, chunk + done, got - done);
            if (written < 0) {
                CALL3(unlinkat, directory, temporary, 0);
                fail("write", written);
            }
            done += written;
        }
        total += (uint64_t)got;
    }
    return total;
}

/* Attributes of users and access lists go from the old file to the new one. */
static long copy_attributes(const char *from, int to)
{
    static char names[CHUNK_BYTES], value[CHUNK_BYTES];
    long length = CALL3(listxattr, from, names, CHUNK_BYTES);

    if (length == -EOPNOTSUPP)
        return 0;
    for (long at = 0; at < length; at += (long)length_of(names + at) + 1) {
        const char *name = names + at;
        long got, result;
        if (!begins_with(name, "user.") && !same(name, "system.posix_acl_access"))
            continue;
        got = CALL4(getxattr, from, name, value, CHUNK_BYTES);
        result = got < 0 ? got : call(__NR_fsetxattr, to, (long)name, (long)value, got, 0);
        if (result < 0)
            return result;
    }
    return length < 0 ? length : 0;
}

/* What the new file takes over from the one that it replaces. */
static long take_over(const char *real, const struct statx *found, int file)
{
    long result = CALL3(fchown, file, found->stx_uid, found->stx_gid);

    return result == 0 ? copy_attributes(real, file) : result;
}

static void write_file(const char *path, const char *wanted_mode, int create_parents)
{
    char real[PATH_BYTES], temporary[64], line[64], *at = line;
    struct statx found;
    int links, replaced = resolve(path, real, &found, &links);
    int mode = replaced ? found.stx_mode & 07777 : NEW_MODE;
    const char *name = real + last_slash(real) + 1;
    long directory, file = -EEXIST, result;
    uint64_t size;

    if (*name == '\0')
        fail("path", -EISDIR);
    if (!same(wanted_mode, "-"))
        mode = (int)number_from(wanted_mode);
    directory = open_parent(real, create_parents, links > 0 ? "dangling" : "open parent");
    for (int attempt = 0; attempt < TRIES && file == -EEXIST; attempt++) {
        temporary_name(temporary);
        file = open_at((int)directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    }
    checked(file, "create");
    size = copy_input((int)file, (int)directory, temporary);
    result = replaced ? take_over(real, &found, (int)file) : 0;
    if (result == 0)
        result = CALL3(fchmod, file, mode, 0);
    if (result == 0)
        result = CALL3(fsync, file, 0, 0);
    if (result == 0)
        result = call(__NR_renameat2, directory, (long)temporary, directory, (long)name, 0);
    if (result < 0) {
        CALL3(unlinkat, directory, temporary, 0);
        fail("replace", result);
    }
    checked(CALL3(fsync, directory, 0, 0), "fsync directory");
    at = put_number(at, (int64_t)size, ' ');
    at = put_number(at, replaced, '\n');
    write_all(1, line, (size_t)(at - line), "output");
}

/* ------------------------------------------------------------------ list */

struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static char letter_of(unsigned int mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return 'f';
    case S_IFDIR:
        return 'd';
    case S_IFLNK:
        return 'l';
    case S_IFIFO:
        return 'p';
    case S_IFSOCK:
        return 's';
    case S_IFCHR:
    case S_IFBLK:
        return 'v';
    default:
        return 'o';
    }
}

static void print_entry(int directory, const char *name)
{
    char line[512], *at = line;
    size_t length = length_of(name);
    struct statx found;

    if (call(__NR_statx, directory, (long)name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS,
             (long)&found) < 0)
        return; /* It is gone meanwhile. */
    *at++ = letter_of(found.stx_mode);
    *at++ = ' ';
    at = put_number(at, found.stx_mode & 07777, ' ');
    at = put_number(at, (int64_t)found.stx_size, ' ');
    at = put_number(at, found.stx_uid, ' ');
    at = put_number(at, found.stx_gid, ' ');
    at = put_number(at, modified_ms(&found), ' ');
    at = put_text(at, name, length < 256 ? length : 256);
    *at++ = '\0';
    write_all(1, line, (size_t)(at - line), "output");
}

static void list_directory(const char *path, uint64_t limit)
{
    static char chunk[CHUNK_BYTES] __attribute__((aligned(8)));
    long got, directory = checked(open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0), "open");

    while ((got = checked(CALL3(getdents64, directory, chunk, CHUNK_BYTES), "getdents")) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(chunk + at);
            at += entry->length;
            if (same(entry->name, ".") || same(entry->name, ".."))
                continue;
            if (limit-- == 0)
                return;
            print_entry((int)directory, entry->name);
        }
    }
}

/* ------------------------------------------------------------------ start */

__attribute__((visibility("hidden"), used, noreturn)) void begin(const long *stack);

void begin(const long *stack)
{
    long count = stack[0];
    char *const *words = (char *const *)(stack + 1);
    char *const *environment = words + count + 1;

    if (count >= 4 && same(words[1], "init"))
        start_init(words + 2, environment);
    else if (count >= 5 && same(words[1], "start"))
        start_command(words + 2, environment);
    else if (count == 5 && same(words[1], "read"))
        read_file(words[2], number_from(words[3]), number_from(words[4]));
    else if (count == 5 && same(words[1], "write"))
        write_file(words[2], words[3], same(words[4], "1"));
    else if (count == 4 && same(words[1], "list"))
        list_directory(words[2], number_from(words[3]));
    else
        fail("usage", -EINVAL);
    leave(0);
}

#if defined(__x86_64__)
__asm__(".globl sandboxd_files_start\n"
        "sandboxd_files_start:\n"
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call begin\n");
#else
__asm__(".globl sandboxd_files_start\n"
        "sandboxd_files_start:\n"
        "    mov x29, #0\n"
        "    mov x0, sp\n"
        "    bl begin\n");
#endif
