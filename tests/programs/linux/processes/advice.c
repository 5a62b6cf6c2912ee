// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory that children do not have, or have without content (`madvise`).
#include "parts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static char *private_memory(int pages) {
    char *at = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

// What a page begins with: 'n' if it is not mapped, '0' for 0.
static char shown(const char *page) {
    unsigned char resident;
    if (mincore((void *)page, PAGE, &resident) != 0) {
        CHECK_EQUAL(errno, ENOMEM);
        return 'n';
    }
    return *page ? *page : '0';
}

static void expect_pages(const char *at, const char *expected) {
    for (int page = 0; expected[page]; ++page) {
        CHECK_EQUAL(shown(at + page * PAGE), expected[page]);
    }
}

static void expect_in_child(char *at, const char *expected) {
    pid_t child = fork();
    if (child == 0) {
        expect_pages(at, expected);
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
}

static void absent(void) {
    char *at = private_memory(6);
    memset(at, 'a', 6 * PAGE);
    CHECK(madvise(at + PAGE, 4 * PAGE, MADV_DONTFORK) == 0);
    expect_in_child(at, "annnna");
    CHECK(madvise(at + 2 * PAGE, PAGE, MADV_DOFORK) == 0);
    expect_in_child(at, "ananna");
    // A part moves, and another one changes: both stay what they are.
    char *place = private_memory(2);
    CHECK(mremap(at + 3 * PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
    CHECK(mprotect(at + 4 * PAGE, 2 * PAGE, PROT_READ) == 0);
    expect_in_child(at, "ananna");
    expect_in_child(place, "n0");
    expect_pages(at, "aaanaa");
    // The child of a child does not get it back, and who runs in the parent's memory has it.
    pid_t child = fork();
    if (child == 0) {
        expect_in_child(at, "ananna");
        CHECK(mmap(at + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
                   -1, 0) == at + PAGE);
        at[PAGE] = 'c';
        expect_in_child(at, "acanna");
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    child = vfork();
    if (child == 0) {
        at[PAGE] = 'v';
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    expect_pages(at, "avanaa");
    munmap(at, 6 * PAGE);
    munmap(place, 2 * PAGE);
}

static void absent_views(void) {
    int fd = memfd_create("view", 0);
    CHECK(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0 && pwrite(fd, "f", 1, 0) == 1);
    char *shared = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *anonymous = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED && anonymous != MAP_FAILED);
    anonymous[0] = 's';
    CHECK(madvise(shared, PAGE, MADV_DONTFORK) == 0);
    CHECK(madvise(anonymous + PAGE, PAGE, MADV_DONTFORK) == 0);
    expect_in_child(shared, "n0");
    expect_in_child(anonymous, "sn");
    munmap(shared, 2 * PAGE);
    munmap(anonymous, 2 * PAGE);
    close(fd);
}

// C libraries differ in what they let programs do with it.
static char *set_break(char *at) { return (char *)syscall(SYS_brk, at); }

// The program break: what grows beside memory that children do not have is theirs again.
static void absent_heap(void) {
    char *start = set_break(NULL);
    char *at = start + (PAGE - (size_t)start % PAGE) % PAGE;
    CHECK(set_break(at + 2 * PAGE) == at + 2 * PAGE);
    memset(at, 'h', 2 * PAGE);
    CHECK(madvise(at, 2 * PAGE, MADV_DONTFORK) == 0 && set_break(at + 3 * PAGE) == at + 3 * PAGE);
    at[2 * PAGE] = 'i';
    pid_t child = fork();
    if (child == 0) {
        expect_pages(at, "nni");
        CHECK(set_break(at + PAGE) == at + PAGE && set_break(at + 2 * PAGE) == at + 2 * PAGE);
        expect_pages(at, "n0n");
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    expect_pages(at, "hhi");
    CHECK(set_break(start) == start);
}

static void wiped(void) {
    char *at = private_memory(4);
    memset(at, 'a', 4 * PAGE);
    CHECK(madvise(at + PAGE, 2 * PAGE, MADV_WIPEONFORK) == 0);
    pid_t child = fork();
    if (child == 0) {
        expect_pages(at, "a00a");
        memset(at, 'b', 4 * PAGE);
        expect_in_child(at, "b00b");
        CHECK(madvise(at, 2 * PAGE, MADV_KEEPONFORK) == 0);
        expect_in_child(at, "bb0b");
        _exit(0);
    }
    CHECK_EQUAL(exit_of(child), 0);
    expect_pages(at, "aaaa");
    CHECK(madvise(at, 2 * PAGE, MADV_DONTFORK) == 0);
    expect_in_child(at, "nn0a");
    CHECK(madvise(at, 4 * PAGE, MADV_DOFORK) == 0);
    expect_in_child(at, "a00a");
    CHECK(mprotect(at + 2 * PAGE, PAGE, PROT_READ) == 0);
    expect_in_child(at, "a00a");
    munmap(at, 4 * PAGE);
    // A part of a large page.
    size_t large = 4 << 20;
    at = private_memory((int)(large / PAGE));
    memset(at, 'l', large);
    char *part = at + (3 << 20) / 2;
    CHECK(madvise(part, PAGE, MADV_WIPEONFORK) == 0);
    expect_in_child(part - PAGE, "l0l");
    munmap(at, large);
}

static void refused(void) {
    char *at = private_memory(4);
    memset(at, 'a', 4 * PAGE);
    CHECK_ERRNO(madvise(at + 1, PAGE, MADV_DONTFORK), EINVAL);
    CHECK_ERRNO(madvise(at, (size_t)-PAGE + 1, MADV_WIPEONFORK), EINVAL);
    CHECK(madvise(at, 0, MADV_WIPEONFORK) == 0);
    // Shared memory and files have content that is not the process's alone.
    char *other = mmap(at + PAGE, PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(other == at + PAGE);
    CHECK_ERRNO(madvise(other, PAGE, MADV_WIPEONFORK), EINVAL);
    CHECK(madvise(other, PAGE, MADV_KEEPONFORK) == 0);
    int fd = open("/proc/self/exe", O_RDONLY);
    CHECK(fd >= 0 && mmap(at + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == other);
    close(fd);
    // What comes before is done.
    CHECK_ERRNO(madvise(at, 3 * PAGE, MADV_WIPEONFORK), EINVAL);
    expect_in_child(at, "0\177aa");
    // A hole is an error, and what is beside it is done.
    CHECK(munmap(at + PAGE, PAGE) == 0);
    CHECK_ERRNO(madvise(at, 4 * PAGE, MADV_WIPEONFORK), ENOMEM);
    expect_in_child(at, "0n00");
    CHECK_ERRNO(madvise(at, 3 * PAGE, MADV_DONTFORK), ENOMEM);
    expect_in_child(at, "nnn0");
    munmap(at, 4 * PAGE);
}

void advice(void) {
    absent();
    absent_views();
    absent_heap();
    wiped();
    refused();
}
