// SPDX-License-Identifier: Apache-2.0 OR MIT
// Seals of files in memory: what nobody can do to them any more (`memfd_create`, `fcntl(F_ADD_SEALS)`).
#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

enum { PAGE = 4096, SIZE = 2 * PAGE };

static int sealable(void) {
    int fd = memfd_create("sealed", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_EQUAL(ftruncate(fd, SIZE), 0);
    CHECK_EQUAL(pwrite(fd, "content", 7, 0), 7);
    return fd;
}

static int seal(int fd, int seals) { return fcntl(fd, F_ADD_SEALS, seals); }

static int seals_of(int fd) { return fcntl(fd, F_GET_SEALS); }

static char *map(int fd, int protection, int flags) { return mmap(NULL, SIZE, protection, flags, fd, 0); }

static void expect_unmappable(int fd, int protection) {
    CHECK(map(fd, protection, MAP_SHARED) == MAP_FAILED && errno == EPERM);
}

static int reopened(int fd, int flags) {
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, flags);
    CHECK(again >= 0);
    return again;
}

// Who may seal what.
static void adding(void) {
    int fd = memfd_create("plain", 0);
    CHECK_EQUAL(seals_of(fd), F_SEAL_SEAL);
    CHECK_ERRNO(seal(fd, F_SEAL_GROW), EPERM);
    CHECK_ERRNO(seal(fd, 0), EPERM);
    CHECK_ERRNO(seal(fd, 0x4000), EINVAL);
    CHECK_EQUAL(ftruncate(fd, 100), 0);
    close(fd);

    fd = sealable();
    CHECK_EQUAL(seals_of(fd), 0);
    CHECK_ERRNO(seal(fd, 0x4000), EINVAL);
    CHECK_EQUAL(seal(fd, 0), 0);
    CHECK_EQUAL(seal(fd, F_SEAL_GROW), 0);
    CHECK_EQUAL(seal(fd, F_SEAL_SHRINK), 0);
    CHECK_EQUAL(seals_of(fd), F_SEAL_GROW | F_SEAL_SHRINK);
    // They are the file's, not the descriptor's, and need the right to write.
    int reader = reopened(fd, O_RDONLY), other = reopened(fd, O_RDWR);
    CHECK_EQUAL(seals_of(reader), F_SEAL_GROW | F_SEAL_SHRINK);
    CHECK_ERRNO(seal(reader, F_SEAL_WRITE), EPERM);
    CHECK_ERRNO(seal(reader, 0x4000), EPERM);
    CHECK_EQUAL(seal(other, F_SEAL_SEAL | F_SEAL_GROW), 0);
    CHECK_EQUAL(seals_of(fd), F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK);
    CHECK_ERRNO(seal(fd, F_SEAL_WRITE), EPERM);
    CHECK_ERRNO(seal(fd, F_SEAL_GROW), EPERM);
    CHECK_EQUAL(pwrite(fd, "x", 1, 0), 1);
    close(reader);
    close(other);
    close(fd);

    // Other files have none.
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    CHECK_ERRNO(seals_of(ends[0]), EINVAL);
    CHECK_ERRNO(seal(ends[1], F_SEAL_GROW), EINVAL);
    close(ends[0]);
    close(ends[1]);
    fd = open("/dev/null", O_RDWR);
    CHECK_ERRNO(seal(fd, F_SEAL_GROW), EINVAL);
    close(fd);
    char name[40];
    snprintf(name, sizeof name, "/dev/shm/seals.%d", getpid());
    fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0);
    CHECK_EQUAL(seals_of(fd), F_SEAL_SEAL);
    CHECK_ERRNO(seal(fd, F_SEAL_GROW), EPERM);
    CHECK_EQUAL(unlink(name), 0);
    close(fd);
    puts("adding");
}

static void lengths(void) {
    int fd = sealable();
    CHECK_EQUAL(seal(fd, F_SEAL_SHRINK), 0);
    CHECK_ERRNO(ftruncate(fd, SIZE - 1), EPERM);
    CHECK_EQUAL(ftruncate(fd, SIZE), 0);
    CHECK_EQUAL(ftruncate(fd, SIZE + 1), 0);
    CHECK_ERRNO(ftruncate(fd, SIZE), EPERM);
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    CHECK_ERRNO(open(path, O_RDWR | O_TRUNC), EPERM);
    CHECK_ERRNO(truncate(path, 0), EPERM);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), SIZE + 1);
    // What is punched is still as long.
    CHECK_EQUAL(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), 0);
    close(fd);

    fd = sealable();
    CHECK_EQUAL(seal(fd, F_SEAL_GROW), 0);
    CHECK_ERRNO(ftruncate(fd, SIZE + 1), EPERM);
    CHECK_ERRNO(pwrite(fd, "x", 1, SIZE), EPERM);
    CHECK_ERRNO(pwrite(fd, "xy", 2, SIZE + 100), EPERM);
    CHECK_EQUAL(pwrite(fd, "", 0, SIZE), 0);
    CHECK_EQUAL(pwrite(fd, "xy", 2, SIZE - 2), 2);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), SIZE);
    CHECK_ERRNO(write(fd, "x", 1), EPERM);
    CHECK_EQUAL(fcntl(fd, F_SETFL, O_APPEND), 0);
    CHECK_ERRNO(write(fd, "x", 1), EPERM);
    CHECK_EQUAL(fcntl(fd, F_SETFL, 0), 0);
    CHECK_ERRNO(fallocate(fd, 0, 0, SIZE + 1), EPERM);
    CHECK_ERRNO(fallocate(fd, FALLOC_FL_KEEP_SIZE, SIZE, 1), EPERM);
    CHECK_EQUAL(fallocate(fd, 0, 0, SIZE), 0);
    CHECK_EQUAL(ftruncate(fd, SIZE - 10), 0);
    // Not even a part of a page that would reach beyond.
    CHECK_ERRNO(pwrite(fd, "0123456789ab", 12, SIZE - 20), EPERM);
    CHECK_EQUAL(lseek(fd, 0, SEEK_END), SIZE - 10);
    close(fd);
    puts("lengths");
}

static void content(int how) {
    int fd = sealable();
    CHECK_EQUAL(seal(fd, how), 0);
    CHECK_ERRNO(pwrite(fd, "x", 1, 0), EPERM);
    CHECK_ERRNO(pwrite(fd, "x", 1, SIZE), EPERM);
    CHECK_EQUAL(pwrite(fd, "", 0, 0), 0);
    CHECK_ERRNO(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, PAGE), EPERM);
    int other = memfd_create("other", 0);
    CHECK_EQUAL(write(other, "other", 5), 5);
    CHECK_ERRNO(sendfile(fd, other, &(off_t){0}, 5), EPERM);
    close(other);
    expect_unmappable(fd, PROT_READ | PROT_WRITE);
    expect_unmappable(fd, PROT_WRITE);
    // What only shows the content cannot become more.
    char *shown = map(fd, PROT_READ, MAP_SHARED);
    CHECK(shown != MAP_FAILED);
    CHECK_ERRNO(mprotect(shown, SIZE, PROT_READ | PROT_WRITE), EACCES);
    char *copy = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    CHECK(copy != MAP_FAILED);
    copy[0] = 'C';
    CHECK(memcmp(shown, "content", 8) == 0 && memcmp(copy, "Content", 8) == 0);
    munmap(copy, SIZE);
    munmap(shown, SIZE);
    // The length is not content.
    CHECK_EQUAL(ftruncate(fd, PAGE), 0);
    CHECK_EQUAL(ftruncate(fd, SIZE), 0);
    CHECK_EQUAL(fallocate(fd, 0, 0, SIZE), 0);
    char text[8];
    CHECK_EQUAL(pread(fd, text, 8, 0), 8);
    CHECK_EQUAL(memcmp(text, "content", 8), 0);
    close(fd);
}

static void *touch(void *at) {
    *(volatile char *)at = 't';
    return NULL;
}

// Mappings that write keep the content from being sealed, whoever has them.
static void mappings(void) {
    int fd = sealable();
    char *at = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    CHECK(at != MAP_FAILED);
    at[0] = 'w';
    CHECK_ERRNO(seal(fd, F_SEAL_WRITE | F_SEAL_GROW), EBUSY);
    CHECK_EQUAL(seals_of(fd), 0);
    CHECK_EQUAL(seal(fd, F_SEAL_SHRINK), 0);
    // A part is enough, and one that could be changed to write.
    CHECK_EQUAL(munmap(at, PAGE), 0);
    CHECK_EQUAL(mprotect(at + PAGE, PAGE, PROT_READ), 0);
    CHECK_ERRNO(seal(fd, F_SEAL_WRITE), EBUSY);
    pid_t child = fork();
    if (child == 0) {
        CHECK_EQUAL(munmap(at + PAGE, PAGE), 0);
        CHECK_ERRNO(seal(fd, F_SEAL_WRITE), EBUSY);
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    // The child's alone.
    int gate[2], answer[2];
    CHECK(pipe(gate) == 0 && pipe(answer) == 0);
    child = fork();
    if (child == 0) {
        char byte;
        CHECK_EQUAL(read(gate[0], &byte, 1), 1);
        CHECK_EQUAL(munmap(at + PAGE, PAGE), 0);
        CHECK_EQUAL(write(answer[1], "x", 1), 1);
        CHECK_EQUAL(read(gate[0], &byte, 1), 1);
        _exit(0);
    }
    CHECK_EQUAL(munmap(at + PAGE, PAGE), 0);
    CHECK_ERRNO(seal(fd, F_SEAL_WRITE), EBUSY);
    CHECK_EQUAL(write(gate[1], "x", 1), 1);
    char byte;
    CHECK_EQUAL(read(answer[0], &byte, 1), 1);
    CHECK_EQUAL(seal(fd, F_SEAL_WRITE), 0);
    CHECK_EQUAL(write(gate[1], "x", 1), 1);
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    CHECK_EQUAL(status, 0);
    close(fd);

    // As soon as nothing is mapped any more it may be sealed, also if others have touched it.
    for (int round = 0; round < 200; round++) {
        fd = sealable();
        at = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
        CHECK(at != MAP_FAILED);
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, touch, at), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        child = round % 20 ? 0 : fork();
        if (round % 20 == 0) {
            if (child == 0) {
                at[PAGE] = 'c';
                _exit(0);
            }
            CHECK_EQUAL(waitpid(child, &status, 0), child);
        }
        CHECK_EQUAL(munmap(at, SIZE), 0);
        CHECK_EQUAL(seal(fd, F_SEAL_WRITE), 0);
        close(fd);
    }

    // Private ones and those of who may only read do no harm.
    fd = sealable();
    int reader = reopened(fd, O_RDONLY);
    char *shown = map(reader, PROT_READ, MAP_SHARED), *copy = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    CHECK(shown != MAP_FAILED && copy != MAP_FAILED);
    copy[0] = 'C';
    CHECK_EQUAL(seal(fd, F_SEAL_WRITE), 0);
    CHECK_EQUAL(memcmp(shown, "content", 8), 0);
    munmap(copy, SIZE);
    munmap(shown, SIZE);
    close(reader);
    close(fd);

    // Old mappings may go on, new ones must not begin.
    fd = sealable();
    at = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
    CHECK(at != MAP_FAILED);
    CHECK_EQUAL(seal(fd, F_SEAL_FUTURE_WRITE), 0);
    at[0] = 'o';
    expect_unmappable(fd, PROT_READ | PROT_WRITE);
    shown = map(fd, PROT_READ, MAP_SHARED);
    CHECK(shown != MAP_FAILED && shown[0] == 'o');
    CHECK_ERRNO(seal(fd, F_SEAL_WRITE), EBUSY);
    munmap(at, SIZE);
    CHECK_EQUAL(seal(fd, F_SEAL_WRITE), 0);
    CHECK_EQUAL(seals_of(fd), F_SEAL_WRITE | F_SEAL_FUTURE_WRITE);
    munmap(shown, SIZE);
    close(fd);
    puts("mappings");
}

int main(void) {
    adding();
    lengths();
    content(F_SEAL_WRITE);
    content(F_SEAL_FUTURE_WRITE);
    puts("content");
    mappings();
    return 0;
}
