// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The times of files in memory, by name and without one: which calls change which of the three.

#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../common/check.h"

#define LENGTH 8192

// Longer than the unit of the times.
#define A_WHILE 20000

static struct stat earlier;

static void begin(int fd) {
    usleep(A_WHILE);
    CHECK_EQUAL(fstat(fd, &earlier), 0);
    usleep(A_WHILE);
}

static int differ(struct timespec one, struct timespec other) {
    return one.tv_sec != other.tv_sec || one.tv_nsec != other.tv_nsec;
}

static void end(int fd, const char *what) {
    struct stat now;
    CHECK_EQUAL(fstat(fd, &now), 0);
    printf("%s:%s%s%s\n", what, differ(now.st_atim, earlier.st_atim) ? " atime" : "",
           differ(now.st_mtim, earlier.st_mtim) ? " mtime" : "",
           differ(now.st_ctim, earlier.st_ctim) ? " ctime" : "");
}

// Says which times of `fd` a statement changes.
#define CHANGES(fd, statement)                                                                               \
    do {                                                                                                     \
        begin(fd);                                                                                           \
        statement;                                                                                           \
        end(fd, #statement);                                                                                 \
    } while (0)

static char buffer[100];

static void read_at(int fd, size_t len, off_t at) { CHECK(pread(fd, buffer, len, at) >= 0); }

static void write_at(int fd, size_t len, off_t at) { CHECK_EQUAL(pwrite(fd, "hello", len, at), len); }

static void set_length(int fd, off_t len) { CHECK_EQUAL(ftruncate(fd, len), 0); }

static void set_times(int fd, time_t accessed, time_t changed) {
    struct timespec times[] = {{accessed, 0}, {changed, 0}};
    CHECK_EQUAL(futimens(fd, times), 0);
}

static char *map(int fd, int prot) {
    char *at = mmap(NULL, LENGTH, prot, MAP_SHARED, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void map_and_unmap(int fd) { CHECK_EQUAL(munmap(map(fd, PROT_READ), LENGTH), 0); }

static void write_mapped_and_sync(int fd) {
    char *at = map(fd, PROT_READ | PROT_WRITE);
    at[0] = 1;
    CHECK_EQUAL(msync(at, LENGTH, MS_SYNC), 0);
    CHECK_EQUAL(munmap(at, LENGTH), 0);
}

static void write_mapped_and_unmap(int fd) {
    char *at = map(fd, PROT_READ | PROT_WRITE);
    at[4096] = 1;
    CHECK_EQUAL(munmap(at, LENGTH), 0);
}

static void read_mapped_and_sync(int fd) {
    char *at = map(fd, PROT_READ | PROT_WRITE);
    CHECK_EQUAL(*(volatile char *)at, 1);
    CHECK_EQUAL(msync(at, LENGTH, MS_SYNC), 0);
    CHECK_EQUAL(munmap(at, LENGTH), 0);
}

static void content(int fd) {
    CHANGES(fd, write_at(fd, 5, 0));
    CHANGES(fd, write_at(fd, 0, 0));
    CHANGES(fd, read_at(fd, 5, 0));
    CHANGES(fd, read_at(fd, 5, 0));
    CHANGES(fd, write_at(fd, 5, 0));
    CHANGES(fd, read_at(fd, 1, 100));
    CHANGES(fd, set_length(fd, 5));
    CHANGES(fd, set_length(fd, LENGTH));
    CHANGES(fd, map_and_unmap(fd));
    CHANGES(fd, map_and_unmap(fd));
    CHANGES(fd, write_mapped_and_sync(fd));
    CHANGES(fd, read_mapped_and_sync(fd));
    CHANGES(fd, write_mapped_and_unmap(fd));
    CHANGES(fd, CHECK_EQUAL(fchmod(fd, 0600), 0));
    set_times(fd, 1, 2000000000);
    CHANGES(fd, read_at(fd, 1, 0));
    set_times(fd, 2100000000, 2000000000);
    CHANGES(fd, read_at(fd, 1, 0));
}

static int reopened(const char *path, int flags) {
    int fd = open(path, flags);
    CHECK(fd >= 0);
    return fd;
}

static void read_again(const char *path, int flags) {
    int fd = reopened(path, flags);
    read_at(fd, 1, 0);
    CHECK_EQUAL(close(fd), 0);
}

static void named(void) {
    char path[] = "/dev/shm/times-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    content(fd);
    CHANGES(fd, write_at(fd, 5, 0); read_again(path, O_RDONLY));
    write_at(fd, 5, 0);
    CHANGES(fd, read_again(path, O_RDONLY | O_NOATIME));
    CHANGES(fd, CHECK_EQUAL(close(reopened(path, O_RDWR)), 0));
    CHANGES(fd, CHECK_EQUAL(close(reopened(path, O_RDWR | O_TRUNC)), 0));
    CHECK_EQUAL(unlink(path), 0);
}

static void unnamed(void) {
    int fd = memfd_create("times", 0);
    CHECK(fd >= 0);
    content(fd);
}

static void list(const char *path) {
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    while (readdir(directory) != NULL) {
    }
    closedir(directory);
}

static void directories(void) {
    char path[] = "/dev/shm/times-XXXXXX";
    CHECK(mkdtemp(path) != NULL);
    int fd = reopened(path, O_RDONLY | O_DIRECTORY);
    CHANGES(fd, list(path));
    CHANGES(fd, list(path));
    CHANGES(fd, CHECK_EQUAL(symlinkat("to", fd, "link"), 0));
    int link = openat(fd, "link", O_PATH | O_NOFOLLOW);
    CHANGES(link, CHECK_EQUAL(readlinkat(fd, "link", buffer, 10), 2));
    CHANGES(link, CHECK_EQUAL(readlinkat(fd, "link", buffer, 10), 2));
    CHANGES(fd, CHECK_EQUAL(unlinkat(fd, "link", 0), 0));
    CHECK_EQUAL(rmdir(path), 0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"named", named}, {"unnamed", unnamed}, {"directories", directories}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
