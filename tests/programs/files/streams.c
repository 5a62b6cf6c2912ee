// SPDX-License-Identifier: Apache-2.0 OR MIT
// Standard streams that are files: what the program does to them is what the shell finds. Each word on the
// command line is a step; what the steps find out goes to the file "found".
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/check.h"

static FILE *found;

static const char *kind(int fd) {
    struct stat status;
    if (fstat(fd, &status) != 0)
        return errno == EBADF ? "closed" : "?";
    if (S_ISREG(status.st_mode))
        return "file";
    return S_ISCHR(status.st_mode) ? "device" : "stream";
}

static void kinds(void) {
    for (int fd = 0; fd < 3; fd++) {
        int flags = fcntl(fd, F_GETFL);
        fprintf(found, "%d: %s, at %ld, mode %d%s\n", fd, kind(fd), (long)lseek(fd, 0, SEEK_CUR),
                flags < 0 ? -1 : flags & O_ACCMODE, flags >= 0 && flags & O_APPEND ? ", appends" : "");
    }
}

// Writes, goes back, writes over, leaves the position in the middle.
static void seek(void) {
    off_t start = lseek(1, 0, SEEK_CUR);
    CHECK(write(1, "0123456789", 10) == 10);
    CHECK(lseek(1, start + 2, SEEK_SET) == start + 2 && write(1, "ab", 2) == 2);
    CHECK(pwrite(1, "X", 1, start) == 1 && lseek(1, 0, SEEK_CUR) == start + 4);
    struct stat status;
    CHECK(fstat(1, &status) == 0 && status.st_size == start + 10);
    CHECK(lseek(1, 0, SEEK_END) == start + 10 && lseek(1, -3, SEEK_CUR) == start + 7);
    CHECK_ERRNO(lseek(1, -1, SEEK_SET), EINVAL);
    char byte;
    CHECK_ERRNO(read(1, &byte, 1), EBADF);
}

static void cut(void) {
    CHECK(write(1, "to be cut off", 13) == 13 && ftruncate(1, 5) == 0 && lseek(1, 5, SEEK_SET) == 5);
    CHECK(fsync(1) == 0);
}

// Descriptor 2 may be a second one of the same file.
static void both(void) {
    CHECK(write(1, "out ", 4) == 4 && write(2, "err ", 4) == 4 && write(1, "out\n", 4) == 4);
}

static void append(void) {
    CHECK(lseek(1, 0, SEEK_SET) == 0 && write(1, "end\n", 4) == 4);
    CHECK(fcntl(1, F_SETFL, 0) == 0 && pwrite(1, "S", 1, 0) == 1 && fcntl(1, F_SETFL, O_APPEND) == 0);
}

// Reads one line byte by byte, and all of it from elsewhere.
static void input(void) {
    char line[64], all[64];
    int len = 0;
    while (read(0, line + len, 1) == 1 && line[len++] != '\n')
        continue;
    ssize_t whole = pread(0, all, sizeof all, 0);
    char *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 0, 0);
    CHECK(len > 0 && whole >= len && mapped != MAP_FAILED && memcmp(mapped, all, (size_t)whole) == 0);
    fprintf(found, "read %d of %ld bytes, at %ld\n", len, (long)whole, (long)lseek(0, 0, SEEK_CUR));
}

static void closed(void) {
    CHECK_ERRNO(write(1, "x", 1), EBADF);
    fprintf(found, "%s %s %s\n", kind(0), kind(1), kind(2));
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"kinds", kinds}, {"seek", seek},     {"cut", cut},       {"both", both},
        {"input", input}, {"append", append}, {"closed", closed},
    };
    // Not on one of the standard descriptors, should they be free.
    int fd = open("found", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0);
    int high = fcntl(fd, F_DUPFD, 10);
    CHECK(high >= 10 && close(fd) == 0);
    found = fdopen(high, "a");
    CHECK(found != NULL);
    for (int i = 1; i < argc; i++) {
        for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++) {
            if (strcmp(parts[part].name, argv[i]) == 0)
                parts[part].run();
        }
    }
    CHECK(fclose(found) == 0);
    return 0;
}
