/* A tree of files that is hard to keep, and a canonical listing of it.
 *
 *   tree make COUNT    files, hard links, setuid, xattrs, renamed directories, whiteouts, 300 MB
 *   tree list          number of entries and a hash over all that must survive, of / without
 *                      /dev, /proc, /sys and /tmp
 *
 * Runs inside a sandbox; linked statically, so that it needs nothing of the image.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BIG_MIB = 300, CHUNK = 1 << 20, MOST_LINKS = 20000 };

static uint64_t first = 14695981039346656037u, second = 88172645463325252u;
static unsigned long entries;
static struct { dev_t dev; ino_t ino; unsigned long number; } links[MOST_LINKS];
static unsigned long known_links;
static unsigned char chunk[CHUNK];

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void mix(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	for (size_t i = 0; i < size; i++) {
		first = (first ^ at[i]) * 1099511628211u;
		second ^= at[i];
		second ^= second << 13;
		second ^= second >> 7;
		second ^= second << 17;
	}
}

static void mix_number(uint64_t number)
{
	mix(&number, sizeof number);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	if (file < 0 || write(file, text, strlen(text)) < 0 || fchmod(file, mode) != 0)
		die(path);
	close(file);
}

static void make_big(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	uint64_t state = 1;
	if (file < 0)
		die(path);
	for (int mib = 0; mib < BIG_MIB; mib++) {
		for (size_t i = 0; i < CHUNK; i += sizeof state) {
			state ^= state << 13;
			state ^= state >> 7;
			state ^= state << 17;
			memcpy(chunk + i, &state, sizeof state);
		}
		if (write(file, chunk, CHUNK) != CHUNK)
			die(path);
	}
	if (fsync(file) != 0)
		die("fsync");
	close(file);
}

static void make_file(int number)
{
	char path[PATH_MAX], other[PATH_MAX], text[64];
	snprintf(path, sizeof path, "/srv/tree/d%d/f%d", number % 50, number);
	snprintf(text, sizeof text, "content of file %d\n", number);
	write_file(path, text, number % 7 == 0 ? 04755 : 0644);
	if (number % 10 == 0) {
		snprintf(other, sizeof other, "/srv/tree/d%d/link%d", (number + 1) % 50, number);
		if (link(path, other) != 0)
			die(other);
	}
	if (number % 11 == 0 && setxattr(path, "user.number", text, strlen(text), 0) != 0)
		die("setxattr");
	if (number % 13 == 0) {
		snprintf(other, sizeof other, "/srv/tree/d%d/symlink%d", number % 50, number);
		if (symlink(path, other) != 0)
			die(other);
	}
	if (number % 17 == 0 && chown(path, 1000 + number % 5, 100) != 0)
		die("chown");
}

/* What needs the overlay: files and directories of the image changed, removed and renamed. */
static void change_image(void)
{
	if (rename("/usr/share/demo", "/usr/share/renamed") != 0)
		die("rename of a directory of the image");
	if (unlink("/usr/share/renamed/README") != 0)
		die("whiteout");
	if (chmod("/usr/share/renamed/numbers", 0600) != 0)
		die("copy-up by chmod");
	int file = open("/usr/share/renamed/same-numbers", O_WRONLY | O_APPEND);
	if (file < 0 || write(file, "more\n", 5) != 5)
		die("append to a hard link of the image");
	close(file);
	if (rmdir("/usr/local/bin") != 0 || mkdir("/usr/local/bin", 0700) != 0)
		die("opaque directory");
	write_file("/etc/hosts-of-mine", "127.0.0.1 me\n", 0640);
	if (mkfifo("/srv/tree/fifo", 0600) != 0)
		die("mkfifo");
}

static int make(int count)
{
	char path[PATH_MAX], other[PATH_MAX];
	if (mkdir("/srv/tree", 0755) != 0)
		die("/srv/tree");
	for (int i = 0; i < 50; i++) {
		snprintf(path, sizeof path, "/srv/tree/d%d", i);
		if (mkdir(path, 0711) != 0)
			die(path);
	}
	for (int i = 0; i < count; i++)
		make_file(i);
	for (int i = 0; i < 50; i += 5) {
		snprintf(path, sizeof path, "/srv/tree/d%d", i);
		snprintf(other, sizeof other, "/srv/tree/renamed%d", i);
		if (rename(path, other) != 0)
			die(other);
	}
	change_image();
	make_big("/srv/tree/big");
	sync();
	return 0;
}

static void mix_content(const char *path)
{
	int file = open(path, O_RDONLY | O_NOATIME);
	if (file < 0)
		file = open(path, O_RDONLY);
	if (file < 0)
		die(path);
	for (ssize_t got; (got = read(file, chunk, CHUNK)) != 0;) {
		if (got < 0)
			die(path);
		mix(chunk, (size_t)got);
	}
	close(file);
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void mix_xattrs(const char *path)
{
	char names[4096], value[4096], *sorted[64];
	ssize_t size = llistxattr(path, names, sizeof names);
	size_t count = 0;
	for (char *name = names; size > 0 && name < names + size && count < 64; name += strlen(name) + 1)
		sorted[count++] = name;
	qsort(sorted, count, sizeof *sorted, by_name);
	for (size_t i = 0; i < count; i++) {
		ssize_t got = lgetxattr(path, sorted[i], value, sizeof value);
		mix(sorted[i], strlen(sorted[i]) + 1);
		if (got > 0)
			mix(value, (size_t)got);
	}
}

/* Which of the names belong together; inode numbers themselves may change. */
static void mix_link(const struct stat *found)
{
	for (unsigned long i = 0; i < known_links; i++)
		if (links[i].ino == found->st_ino && links[i].dev == found->st_dev) {
			mix_number(links[i].number);
			return;
		}
	if (known_links < MOST_LINKS) {
		links[known_links].dev = found->st_dev;
		links[known_links].ino = found->st_ino;
		links[known_links++].number = entries;
	}
	mix_number(entries);
}

static void walk(const char *path);

static void walk_into(const char *path)
{
	char inner[PATH_MAX], **names = NULL;
	size_t count = 0;
	DIR *directory = opendir(path);
	if (directory == NULL)
		die(path);
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		names = realloc(names, (count + 1) * sizeof *names);
		names[count++] = strdup(entry->d_name);
	}
	closedir(directory);
	qsort(names, count, sizeof *names, by_name);
	for (size_t i = 0; i < count; i++) {
		snprintf(inner, sizeof inner, "%s/%s", strcmp(path, "/") == 0 ? "" : path, names[i]);
		walk(inner);
		free(names[i]);
	}
	free(names);
}

static void walk(const char *path)
{
	struct stat found;
	char target[PATH_MAX];
	if (strcmp(path, "/dev") == 0 || strcmp(path, "/proc") == 0 || strcmp(path, "/sys") == 0
	    || strcmp(path, "/tmp") == 0)
		return;
	if (lstat(path, &found) != 0)
		die(path);
	entries++;
	mix(path, strlen(path) + 1);
	mix_number(found.st_mode);
	mix_number(found.st_uid);
	mix_number(found.st_gid);
	mix_number((uint64_t)found.st_mtim.tv_sec);
	mix_number((uint64_t)found.st_mtim.tv_nsec);
	mix_xattrs(path);
	if (S_ISDIR(found.st_mode)) {
		walk_into(path);
		return;
	}
	mix_number((uint64_t)found.st_size);
	mix_number(found.st_nlink);
	mix_link(&found);
	if (S_ISREG(found.st_mode)) {
		mix_content(path);
	} else if (S_ISLNK(found.st_mode)) {
		ssize_t size = readlink(path, target, sizeof target);
		if (size > 0)
			mix(target, (size_t)size);
	} else {
		mix_number(found.st_rdev);
	}
}

int main(int count, char **words)
{
	umask(0);
	if (count == 3 && strcmp(words[1], "make") == 0)
		return make(atoi(words[2]));
	walk("/");
	printf("%lu %016" PRIx64 "%016" PRIx64 "\n", entries, first, second);
	return 0;
}
