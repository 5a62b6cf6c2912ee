// SPDX-License-Identifier: Apache-2.0 OR MIT
// Shared mappings of a file: they agree with read, write and each other, and the file has what was written.
//   mapped set DIRECTORY     all parts but the next
//   mapped leave FILE        writes 3 pages and ends in the middle of it all, without msync, munmap or close
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../common/check.h"

enum { PAGE = 4096, PAGES = 20 };

static const char *path = "mapped-file";

static int fresh(off_t size) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && ftruncate(fd, size) == 0);
    return fd;
}

static char *map(int fd, size_t len, int prot, int flags) {
    char *at = mmap(NULL, len, prot, flags, fd, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void expect_in_file(off_t at, const char *text) {
    char back[64];
    int fd = open(path, O_RDONLY);
    size_t len = strlen(text);
    CHECK(fd >= 0 && pread(fd, back, len, at) == (ssize_t)len && memcmp(back, text, len) == 0);
    CHECK(close(fd) == 0);
}

static sigjmp_buf bus;

static void on_bus(int signal) { siglongjmp(bus, signal); }

static int raises_bus(volatile char *at) {
    int signal = sigsetjmp(bus, 1);
    if (signal == 0)
        (void)*at;
    return signal == SIGBUS;
}

static void coherent(void) {
    int fd = fresh(PAGES * PAGE + 100), other_fd = open(path, O_RDWR);
    size_t len = (PAGES + 1) * PAGE;
    char *one = map(fd, len, PROT_READ | PROT_WRITE, MAP_SHARED);
    char *two = map(other_fd, len, PROT_READ | PROT_WRITE, MAP_SHARED);
    char *reader = map(fd, len, PROT_READ, MAP_SHARED),
         *copy = map(fd, len, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    char buffer[8];
    strcpy(copy, "private");
    for (int page = 0; page < PAGES; page++) {
        size_t at = (size_t)page * PAGE + (size_t)page * 7;
        snprintf(one + at, 8, "a%05d", page);
        CHECK(strcmp(two + at, one + at) == 0 && strcmp(reader + at, one + at) == 0);
        CHECK(pread(fd, buffer, 7, (off_t)at) == 7 && strcmp(buffer, one + at) == 0);
        snprintf(buffer, 8, "b%05d", page);
        CHECK(pwrite(other_fd, buffer, 7, (off_t)at) == 7);
        CHECK(strcmp(one + at, buffer) == 0 && strcmp(two + at, buffer) == 0 &&
              strcmp(reader + at, buffer) == 0);
    }
    // A read into the mapping of another page of the same file, and a write out of it.
    CHECK(pread(fd, one + 3 * PAGE + 100, 7, 5 * PAGE + 35) == 7 &&
          strcmp(two + 3 * PAGE + 100, "b00005") == 0);
    CHECK(pwrite(fd, two + 3 * PAGE + 100, 7, 6 * PAGE) == 7 && strcmp(one + 6 * PAGE, "b00005") == 0);
    CHECK(strcmp(copy, "private") == 0);
    // The end of the file is within a page: what is written behind it is nowhere.
    one[PAGES * PAGE + 99] = 'l';
    one[PAGES * PAGE + 100] = 'x';
    CHECK(msync(one, len, MS_SYNC) == 0);
    struct stat status;
    CHECK(fstat(fd, &status) == 0 && status.st_size == PAGES * PAGE + 100);
    int append = open(path, O_WRONLY | O_APPEND);
    CHECK(write(append, "end", 3) == 3 && memcmp(two + PAGES * PAGE + 99, "lend", 4) == 0);
    CHECK(munmap(one, len) == 0 && munmap(two, len) == 0 && munmap(reader, len) == 0 &&
          munmap(copy, len) == 0);
    expect_in_file(PAGES * PAGE + 99, "lend");
    expect_in_file(6 * PAGE, "b00005");
    CHECK(close(fd) == 0 && close(other_fd) == 0 && close(append) == 0);
}

static void rights(void) {
    int fd = fresh(2 * PAGE), read_only = open(path, O_RDONLY);
    CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, read_only, 0), EACCES);
    char *at = map(read_only, PAGE, PROT_READ, MAP_SHARED);
    CHECK_ERRNO(mprotect(at, PAGE, PROT_READ | PROT_WRITE), EACCES);
    char *later = map(fd, 2 * PAGE, PROT_READ, MAP_SHARED);
    CHECK(later[PAGE] == 0 && mprotect(later, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
    strcpy(later + PAGE, "later");
    CHECK(mprotect(later, 2 * PAGE, PROT_READ) == 0 && msync(later, 2 * PAGE, MS_SYNC) == 0);
    expect_in_file(PAGE, "later");
    // A private mapping that becomes writable has pages of its own.
    char *private = map(read_only, 2 * PAGE, PROT_READ, MAP_PRIVATE);
    CHECK(strcmp(private + PAGE, "later") == 0 && mprotect(private, 2 * PAGE, PROT_READ | PROT_WRITE) == 0);
    strcpy(private + PAGE, "never");
    CHECK(strcmp(later + PAGE, "later") == 0);
    char *moved = mremap(later, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED && strcmp(moved + PAGE, "later") == 0);
    CHECK(munmap(at, PAGE) == 0 && munmap(moved, 8 * PAGE) == 0 && munmap(private, 2 * PAGE) == 0);
    CHECK(close(fd) == 0 && close(read_only) == 0);
}

static void truncated(void) {
    int fd = fresh(6 * PAGE);
    char *at = map(fd, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    memset(at, 'm', 6 * PAGE);
    CHECK(raises_bus(at + 6 * PAGE) && !raises_bus(at + 5 * PAGE));
    CHECK(ftruncate(fd, 2 * PAGE + 10) == 0);
    CHECK(raises_bus(at + 3 * PAGE) && at[2 * PAGE + 9] == 'm' && at[2 * PAGE + 10] == 0);
    at[2 * PAGE + 20] = 'x';
    CHECK(ftruncate(fd, 5 * PAGE) == 0 && at[2 * PAGE + 9] == 'm' && at[3 * PAGE] == 0 && at[4 * PAGE] == 0);
    CHECK(raises_bus(at + 5 * PAGE));
    CHECK(truncate(path, PAGE) == 0 && raises_bus(at + PAGE) && at[PAGE - 1] == 'm');
    CHECK(close(open(path, O_WRONLY | O_TRUNC)) == 0 && raises_bus(at));
    CHECK(ftruncate(fd, PAGE) == 0 && at[0] == 0);
    strcpy(at, "again");
    CHECK(munmap(at, 8 * PAGE) == 0 && close(fd) == 0);
    expect_in_file(0, "again");
}

// Without a name the file goes on, and so it does without a descriptor.
static void orphan(void) {
    int fd = fresh(PAGE);
    char *at = map(fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    CHECK(unlink(path) == 0);
    strcpy(at, "no name");
    char back[8];
    CHECK(pread(fd, back, 8, 0) == 8 && strcmp(back, "no name") == 0);
    CHECK(munmap(at, PAGE) == 0 && pread(fd, back, 8, 0) == 8 && strcmp(back, "no name") == 0 &&
          close(fd) == 0);
    fd = fresh(PAGE);
    at = map(fd, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    CHECK(close(fd) == 0);
    strcpy(at, "no descriptor");
    expect_in_file(0, "no descriptor");
    CHECK(munmap(at, PAGE) == 0);
    expect_in_file(0, "no descriptor");
}

enum { THREADS = 4, ROUNDS = 200 };
static char *counted;

static void *count(void *argument) {
    for (int i = 0; i < ROUNDS; i++) {
        __atomic_fetch_add((int *)(counted + (i % PAGES) * PAGE), 1, __ATOMIC_RELAXED);
        if (i % 50 == 0)
            CHECK(msync(counted, PAGES * PAGE, MS_SYNC) == 0);
        if (i % 70 == (int)(long)argument)
            CHECK(madvise(counted, PAGES * PAGE, MADV_DONTNEED) == 0);
    }
    return NULL;
}

// Threads write while pages are written back and dropped: nothing is lost.
static void threads(void) {
    int fd = fresh(PAGES * PAGE);
    counted = map(fd, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    pthread_t all[THREADS];
    for (long i = 0; i < THREADS; i++)
        CHECK(pthread_create(&all[i], NULL, count, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(all[i], NULL) == 0);
    CHECK(munmap(counted, PAGES * PAGE) == 0);
    int sum = 0;
    for (int page = 0; page < PAGES; page++) {
        int value;
        CHECK(pread(fd, &value, sizeof value, (off_t)page * PAGE) == sizeof value);
        sum += value;
    }
    CHECK_EQUAL(sum, THREADS * ROUNDS);
    CHECK(close(fd) == 0);
}

// Where bytes are read to is the file itself, and no page of it is there when they come.
static void read_into(void) {
    static char text[3 * PAGE], zeros[PAGE];
    int fd = fresh(PAGES * PAGE);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * 7 + i / PAGE);
    CHECK(pwrite(fd, text, sizeof text, 0) == sizeof text);
    char *at = map(fd, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED), *to = at + 8 * PAGE + 5;
    struct iovec pieces[] = {{to, 100}, {to + 100, 2 * PAGE}, {to + 100 + 2 * PAGE, PAGE}};
    CHECK(preadv(fd, pieces, 3, 10) == 3 * PAGE + 100);
    CHECK(memcmp(to, text + 10, sizeof text - 10) == 0 && memcmp(to + sizeof text - 10, zeros, 110) == 0);
    CHECK(pread(fd, at + PAGE, PAGE, PAGE) == PAGE && memcmp(at, text, sizeof text) == 0);
    CHECK(pread(fd, at + 14 * PAGE, 2 * PAGE, (PAGES - 1) * PAGE) == PAGE);
    CHECK(memcmp(at + 14 * PAGE, zeros, PAGE) == 0);
    CHECK(munmap(at, PAGES * PAGE) == 0 && close(fd) == 0);
}

// Stays on the host for the test to look at.
static void kept(void) {
    int fd = fresh(3 * PAGE);
    char *at = map(fd, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    strcpy(at, "by msync");
    CHECK(msync(at, PAGE, MS_SYNC) == 0);
    strcpy(at + PAGE, "by close");
    CHECK(close(fd) == 0);
    strcpy(at + 2 * PAGE, "by munmap");
    CHECK(munmap(at, 3 * PAGE) == 0);
}

static int leave(const char *name) {
    path = name;
    char *at = map(fresh(3 * PAGE), 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    memset(at, 'e', 3 * PAGE);
    _exit(0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"coherent", coherent}, {"rights", rights},       {"truncated", truncated}, {"orphan", orphan},
        {"threads", threads},   {"read-into", read_into}, {"kept", kept},
    };
    if (argc == 3 && strcmp(argv[1], "leave") == 0)
        return leave(argv[2]);
    if (argc != 3 || strcmp(argv[1], "set") != 0)
        return 2;
    CHECK(mkdir(argv[2], 0755) == 0 || errno == EEXIST);
    CHECK(chdir(argv[2]) == 0);
    struct sigaction action = {.sa_handler = on_bus};
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    return run_parts(parts, sizeof parts / sizeof parts[0], 1, argv);
}
