/* A disk that remembers: one file served over FUSE, each write and flush of it written to a log.
 *
 * flushlog MOUNTPOINT IMAGE LOG
 *
 * The file "disk" has the size and content of IMAGE; writes change IMAGE and are appended to LOG,
 * so that later any state can be built that a disk with a volatile cache might show after a power
 * loss. The file "position" says how many records the log has: what was acknowledged before it was
 * read is covered by them. Speaks the kernel's protocol itself, so it needs no library. One thread.
 * It ends when the file system is unmounted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DISK = 2, POSITION = 3, MAX_WRITE = 1 << 20, BUFFER = MAX_WRITE + 65536, VALID_S = 3600 };

/* A record of the log. A flush has no length and no bytes after it. */
struct record {
    uint64_t offset;
    uint32_t length;
    uint32_t is_flush;
};

static int device, image, journal;
static uint64_t image_bytes, records;
static char request[BUFFER], bytes[MAX_WRITE];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void answer(const struct fuse_in_header *in, int error, const void *body, size_t length)
{
    struct fuse_out_header out = {.len = (uint32_t)(sizeof out + length), .error = -error,
                                  .unique = in->unique};
    struct iovec parts[2] = {{&out, sizeof out}, {(void *)body, length}};

    if (writev(device, parts, length > 0 ? 2 : 1) < 0 && errno != ENOENT)
        die("answer");
}

static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr found = {.ino = node, .nlink = 1, .blksize = 4096,
                              .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0700 : S_IFREG | 0600};

    if (node == DISK) {
        found.size = image_bytes;
        found.blocks = image_bytes / 512;
    }
    return found;
}

static void begin(const struct fuse_in_header *in, const struct fuse_init_in *asked)
{
    struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION,
                                .max_readahead = asked->max_readahead, .max_write = MAX_WRITE,
                                .flags = FUSE_BIG_WRITES | FUSE_MAX_PAGES | FUSE_ASYNC_READ,
                                .max_pages = MAX_WRITE / 4096, .max_background = 16,
                                .congestion_threshold = 12};

    answer(in, 0, &out, sizeof out);
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
    uint64_t node = strcmp(name, "disk") == 0 ? DISK : strcmp(name, "position") == 0 ? POSITION : 0;
    struct fuse_entry_out out = {.nodeid = node, .entry_valid = VALID_S, .attr_valid = VALID_S,
                                 .attr = attributes(node)};

    if (node == 0)
        answer(in, ENOENT, NULL, 0);
    else
        answer(in, 0, &out, sizeof out);
}

static void tell_attributes(const struct fuse_in_header *in)
{
    struct fuse_attr_out out = {.attr_valid = VALID_S, .attr = attributes(in->nodeid)};

    answer(in, 0, &out, sizeof out);
}

static void open_file(const struct fuse_in_header *in)
{
    /* Direct: every write of the loop device arrives here when it is made, not when it suits. */
    struct fuse_open_out out = {.fh = in->nodeid, .open_flags = FOPEN_DIRECT_IO};

    answer(in, 0, &out, sizeof out);
}

static void read_file(const struct fuse_in_header *in, const struct fuse_read_in *asked)
{
    ssize_t length;

    if (in->nodeid == POSITION) {
        length = snprintf(bytes, sizeof bytes, "%llu\n", (unsigned long long)records);
        answer(in, 0, bytes, asked->offset == 0 ? (size_t)length : 0);
        return;
    }
    length = pread(image, bytes, asked->size, (off_t)asked->offset);
    answer(in, length < 0 ? errno : 0, bytes, length < 0 ? 0 : (size_t)length);
}

static void keep(const struct record *record, const void *content)
{
    struct iovec parts[2] = {{(void *)record, sizeof *record}, {(void *)content, record->length}};

    if (writev(journal, parts, record->length > 0 ? 2 : 1) !=
        (ssize_t)(sizeof *record + record->length))
        die("log");
    records++;
}

static void write_file(const struct fuse_in_header *in, const struct fuse_write_in *asked)
{
    const char *content = (const char *)(asked + 1);
    struct record record = {.offset = asked->offset, .length = asked->size};
    struct fuse_write_out out = {.size = asked->size};

    if (in->nodeid != DISK || asked->offset + asked->size > image_bytes) {
        answer(in, ENOSPC, NULL, 0);
        return;
    }
    if (pwrite(image, content, asked->size, (off_t)asked->offset) != (ssize_t)asked->size)
        die("image");
    keep(&record, content);
    answer(in, 0, &out, sizeof out);
}

static void flush_disk(const struct fuse_in_header *in)
{
    struct record record = {.is_flush = 1};

    keep(&record, NULL);
    answer(in, 0, NULL, 0);
}

static void tell_size(const struct fuse_in_header *in)
{
    struct fuse_statfs_out out = {.st = {.bsize = 4096, .frsize = 4096, .namelen = 255,
                                         .blocks = image_bytes / 4096}};

    answer(in, 0, &out, sizeof out);
}

static void serve_one(const struct fuse_in_header *in)
{
    const void *body = in + 1;

    switch (in->opcode) {
    case FUSE_INIT: begin(in, body); break;
    case FUSE_LOOKUP: look_up(in, body); break;
    case FUSE_GETATTR:
    case FUSE_SETATTR: tell_attributes(in); break;
    case FUSE_OPEN: open_file(in); break;
    case FUSE_READ: read_file(in, body); break;
    case FUSE_WRITE: write_file(in, body); break;
    case FUSE_FSYNC: flush_disk(in); break;
    case FUSE_STATFS: tell_size(in); break;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
    case FUSE_OPENDIR:
    case FUSE_RELEASEDIR:
    case FUSE_ACCESS: answer(in, 0, NULL, 0); break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: break; /* These want no answer. */
    default: answer(in, ENOSYS, NULL, 0); break;
    }
}

int main(int count, char **words)
{
    char options[128];
    struct stat found;

    if (count != 4) {
        fputs("flushlog MOUNTPOINT IMAGE LOG\n", stderr);
        return 2;
    }
    image = open(words[2], O_RDWR | O_CLOEXEC);
    journal = open(words[3], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (image < 0 || journal < 0 || device < 0 || fstat(image, &found) < 0)
        die("open");
    image_bytes = (uint64_t)found.st_size;
    snprintf(options, sizeof options, "fd=%d,rootmode=40700,user_id=0,group_id=0", device);
    if (mount("flushlog", words[1], "fuse", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
        die("mount");
    puts("serving");
    fflush(stdout);
    for (;;) {
        ssize_t length = read(device, request, sizeof request);

        if (length < 0 && errno == ENODEV)
            return 0; /* Unmounted. */
        if (length < 0 && errno != EINTR && errno != EAGAIN && errno != ENOENT)
            die("read");
        if (length > 0)
            serve_one((const struct fuse_in_header *)request);
    }
}
