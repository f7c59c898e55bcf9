/* Writes small files for ever and tells, after fsync of file and directory, how many there are.
 *
 * synced write DIRECTORY COUNTER    COUNTER is a file whose first line is the number
 * synced verify DIRECTORY NUMBER    exits with 0 when files 1 to NUMBER are there and whole */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 512 };

static void fill(char *record, long number)
{
    memset(record, 'a' + (int)(number % 26), RECORD_BYTES);
    snprintf(record, RECORD_BYTES, "record %ld\n", number);
}

static int write_one(int directory, long number)
{
    char name[32], record[RECORD_BYTES];
    int file;

    fill(record, number);
    snprintf(name, sizeof name, "synced.%ld", number);
    file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 || write(file, record, sizeof record) != sizeof record || fsync(file) < 0 ||
        fsync(directory) < 0)
        return -1;
    return close(file);
}

static int verify_one(int directory, long number)
{
    char name[32], expected[RECORD_BYTES], found[RECORD_BYTES];
    int file, is_same;

    fill(expected, number);
    snprintf(name, sizeof name, "synced.%ld", number);
    file = openat(directory, name, O_RDONLY);
    is_same = file >= 0 && read(file, found, sizeof found) == sizeof found &&
              memcmp(found, expected, sizeof found) == 0;
    if (file >= 0)
        close(file);
    return is_same ? 0 : -1;
}

int main(int count, char **words)
{
    int directory = count == 4 ? open(words[2], O_RDONLY | O_DIRECTORY) : -1;

    if (directory < 0)
        return 2;
    if (strcmp(words[1], "verify") == 0) {
        for (long number = 1; number <= atol(words[3]); number++)
            if (verify_one(directory, number) < 0) {
                printf("%ld\n", number);
                return 1;
            }
        return 0;
    }
    int counter = open(words[3], O_WRONLY | O_CREAT, 0600);
    for (long number = 1; write_one(directory, number) == 0; number++) {
        char told[24];
        int length = snprintf(told, sizeof told, "%ld\n", number);

        if (pwrite(counter, told, (size_t)length, 0) != length)
            return 1;
    }
    return 1;
}
