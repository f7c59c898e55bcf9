/* Attacks on the limits of a sandbox, run inside one: attack fork|memory|disk|inodes|output|zombies
 *
 * Each prints how far it came. None of them is gentle: what stops them is the sandbox's limits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 20, FILES_IN_DIRECTORY = 4096 };

/* Processes that only wait, until the kernel refuses one more; then as many tries again. */
static int attack_fork(long tries)
{
    long made = 0, refused = 0;

    for (long n = 0; n < tries; n++) {
        pid_t child = fork();

        if (child == 0) {
            pause();
            _exit(0);
        }
        if (child > 0)
            made++;
        else
            refused++;
    }
    printf("made %ld refused %ld\n", made, refused);
    fflush(stdout);
    kill(-1, SIGKILL); /* What is left of this sandbox's own processes, init excepted. */
    return 0;
}

/* Touches memory until something happens. */
static int attack_memory(long mebibytes)
{
    for (long n = 0; n < mebibytes; n++) {
        char *chunk = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

        if (chunk == MAP_FAILED) {
            printf("stopped at %ld MiB: %s\n", n, strerrorname_np(errno));
            return 0;
        }
        memset(chunk, (int)n, CHUNK_BYTES);
    }
    printf("got %ld MiB\n", mebibytes);
    return 0;
}

static int attack_disk(long mebibytes)
{
    static char chunk[CHUNK_BYTES];
    int file = open("/srv/attack-disk", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t written = 0;
    long total = 0;

    memset(chunk, 'x', sizeof chunk);
    while (total >> 20 < mebibytes && (written = write(file, chunk, sizeof chunk)) > 0)
        total += written;
    if (written < 0)
        printf("stopped at %ld MiB: %s\n", total >> 20, strerrorname_np(errno));
    else
        printf("got %ld MiB\n", total >> 20);
    return 0;
}

/* Empty files in many directories, until there is no room for an inode. */
static int attack_inodes(long files)
{
    char name[64];

    mkdir("/srv/attack-inodes", 0700);
    for (long n = 0; n < files; n++) {
        int file;

        if (n % FILES_IN_DIRECTORY == 0) {
            snprintf(name, sizeof name, "/srv/attack-inodes/%ld", n / FILES_IN_DIRECTORY);
            mkdir(name, 0700);
        }
        snprintf(name, sizeof name, "/srv/attack-inodes/%ld/%ld", n / FILES_IN_DIRECTORY, n);
        file = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (file < 0) {
            printf("stopped at %ld files: %s\n", n, strerrorname_np(errno));
            return 0;
        }
        close(file);
    }
    printf("got %ld files\n", files);
    return 0;
}

static int attack_output(long mebibytes)
{
    static char chunk[CHUNK_BYTES];

    memset(chunk, 'o', sizeof chunk);
    for (long n = 0; n < mebibytes; n++)
        for (size_t done = 0; done < sizeof chunk;) {
            ssize_t written = write(1, chunk + done, sizeof chunk - done);

            if (written <= 0)
                return 1;
            done += (size_t)written;
        }
    return 0;
}

/* Children that nobody waits for, from a parent that ends whenever no more can be made. */
static long make_zombies(long wanted)
{
    int ends[2], status;
    long made = 0;
    pid_t parent;

    if (pipe(ends) < 0)
        return 0;
    parent = fork();
    if (parent == 0) {
        for (pid_t child = 1; made < wanted && child > 0; made += child > 0) {
            child = vfork();
            if (child == 0)
                _exit(0);
        }
        status = write(ends[1], &made, sizeof made) == sizeof made;
        _exit(status == 1 ? 0 : 1);
    }
    close(ends[1]);
    if (parent < 0 || read(ends[0], &made, sizeof made) != sizeof made)
        made = 0;
    close(ends[0]);
    if (parent > 0)
        waitpid(parent, &status, 0);
    return made;
}

static int attack_zombies(long wanted)
{
    long made = 0;

    for (int idle = 0; made < wanted && idle < 1000;) {
        long more = make_zombies(wanted - made);

        made += more;
        idle = more > 0 ? 0 : idle + 1;
        if (more == 0)
            usleep(1000);
    }
    printf("made %ld\n", made);
    return 0;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        int (*run)(long);
    } attacks[] = {
        {"fork", attack_fork},     {"memory", attack_memory}, {"disk", attack_disk},
        {"inodes", attack_inodes}, {"output", attack_output}, {"zombies", attack_zombies},
    };

    for (size_t n = 0; count == 3 && n < sizeof attacks / sizeof attacks[0]; n++)
        if (strcmp(words[1], attacks[n].name) == 0)
            return attacks[n].run(atol(words[2]));
    fputs("attack fork|memory|disk|inodes|output|zombies AMOUNT\n", stderr);
    return 2;
}
