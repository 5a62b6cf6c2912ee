// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// mmap and its family: anonymous, fixed, reserved, shared and file-backed mappings, protection, moving, and
// brk.

#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PAGE = 4096 };

static sigjmp_buf back;

static void jump(int number) { siglongjmp(back, number); }

// The signal that reading, or writing, at an address raises; 0 for none.
static int touch(volatile char *address, int write_too) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = jump;
    CHECK_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
    CHECK_EQUAL(sigaction(SIGBUS, &action, NULL), 0);
    int number = sigsetjmp(back, 1);
    if (number == 0) {
        char value = *address;
        if (write_too) {
            *address = value;
        }
    }
    return number;
}

static char *map(size_t length, int protection) {
    char *address = mmap(NULL, length, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(address != MAP_FAILED);
    CHECK_EQUAL((uintptr_t)address % PAGE, 0);
    return address;
}

static int all_bytes(const char *address, size_t length, char value) {
    for (size_t i = 0; i < length; i++) {
        if (address[i] != value) {
            return 0;
        }
    }
    return 1;
}

static void part_anonymous(void) {
    char *one = map(5 * PAGE, PROT_READ | PROT_WRITE);
    CHECK(all_bytes(one, 5 * PAGE, 0));
    memset(one, 'a', 5 * PAGE);
    // A hole in the middle.
    CHECK_EQUAL(munmap(one + 2 * PAGE, PAGE), 0);
    CHECK_EQUAL(touch(one + PAGE, 1), 0);
    CHECK_EQUAL(touch(one + 2 * PAGE, 0), SIGSEGV);
    CHECK_EQUAL(touch(one + 3 * PAGE, 1), 0);
    CHECK(all_bytes(one + 3 * PAGE, 2 * PAGE, 'a'));
    // A range with a hole unmaps.
    CHECK_EQUAL(munmap(one, 5 * PAGE), 0);
    CHECK_EQUAL(munmap(one, 5 * PAGE), 0);
    CHECK_ERRNO(munmap(one + 1, PAGE), EINVAL);
    CHECK_ERRNO(munmap(one, 0), EINVAL);
    CHECK_ERRNO((long)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
    CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
    CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), EBADF);

    // A large block, touched sparsely: fresh memory is zero everywhere, again after it was used and freed.
    for (int round = 0; round < 3; round++) {
        enum { LARGE = 24 << 20 };
        char *large = map(LARGE, PROT_READ | PROT_WRITE);
        for (size_t i = 0; i < LARGE; i += 3 * PAGE + 64) {
            CHECK_EQUAL(large[i], 0);
            large[i] = 'x';
        }
        CHECK_EQUAL(munmap(large, LARGE), 0);
    }
}

static void part_protect(void) {
    char *pages = map(4 * PAGE, PROT_READ | PROT_WRITE);
    memset(pages, 'p', 4 * PAGE);
    CHECK_EQUAL(mprotect(pages + PAGE, PAGE, PROT_READ), 0);
    CHECK_EQUAL(mprotect(pages + 2 * PAGE, PAGE, PROT_NONE), 0);
    CHECK_EQUAL(touch(pages, 1), 0);
    CHECK_EQUAL(touch(pages + PAGE, 0), 0);
    CHECK_EQUAL(touch(pages + PAGE, 1), SIGSEGV);
    CHECK_EQUAL(touch(pages + 2 * PAGE, 0), SIGSEGV);
    CHECK_EQUAL(touch(pages + 3 * PAGE, 1), 0);
    CHECK_EQUAL(mprotect(pages, 4 * PAGE, PROT_READ | PROT_WRITE), 0);
    // What a page held comes back with its protection.
    CHECK(all_bytes(pages, 4 * PAGE, 'p'));
    CHECK_EQUAL(touch(pages + 2 * PAGE, 1), 0);
    CHECK_ERRNO(mprotect(pages + 1, PAGE, PROT_READ), EINVAL);
    CHECK_EQUAL(munmap(pages + 3 * PAGE, PAGE), 0);
    CHECK_ERRNO(mprotect(pages, 4 * PAGE, PROT_READ), ENOMEM);
    CHECK_EQUAL(munmap(pages, 3 * PAGE), 0);

    // Code written into a page and made executable: mov eax, 42; ret.
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    char *text = map(PAGE, PROT_READ | PROT_WRITE);
    memcpy(text, code, sizeof code);
    CHECK_EQUAL(mprotect(text, PAGE, PROT_READ | PROT_EXEC), 0);
    CHECK_EQUAL(((int (*)(void))(uintptr_t)text)(), 42);
    CHECK_EQUAL(touch(text, 1), SIGSEGV);
    CHECK_EQUAL(munmap(text, PAGE), 0);
}

static void part_reserve(void) {
    // Much more than the machine has; only what is opened and touched costs memory.
    size_t huge = (size_t)64 << 30;
    char *space = mmap(NULL, huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(space != MAP_FAILED);
    CHECK_EQUAL(touch(space + huge / 2, 0), SIGSEGV);
    CHECK_EQUAL(mprotect(space + huge / 2, 16 * PAGE, PROT_READ | PROT_WRITE), 0);
    memset(space + huge / 2, 'r', 16 * PAGE);
    CHECK_EQUAL(touch(space + huge / 2 + 16 * PAGE, 0), SIGSEGV);
    // Trim both ends, as malloc does with an arena.
    CHECK_EQUAL(munmap(space, huge / 2), 0);
    CHECK_EQUAL(munmap(space + huge / 2 + 16 * PAGE, huge / 2 - 16 * PAGE), 0);
    CHECK(all_bytes(space + huge / 2, 16 * PAGE, 'r'));
    CHECK_EQUAL(munmap(space + huge / 2, 16 * PAGE), 0);
}

static void part_fixed(void) {
    char *pages = map(8 * PAGE, PROT_READ | PROT_WRITE);
    memset(pages, 'o', 8 * PAGE);
    // MAP_FIXED replaces; a hint does not.
    char *fixed = mmap(pages + 2 * PAGE, 2 * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(fixed == pages + 2 * PAGE);
    CHECK(all_bytes(fixed, 2 * PAGE, 0));
    CHECK(all_bytes(pages, 2 * PAGE, 'o') && all_bytes(pages + 4 * PAGE, 4 * PAGE, 'o'));
    char *hinted = mmap(pages, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(hinted != MAP_FAILED && (hinted < pages || hinted >= pages + 8 * PAGE));
    CHECK_EQUAL(munmap(hinted, PAGE), 0);
    CHECK_ERRNO((long)mmap(pages, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
                EEXIST);
    CHECK_ERRNO((long)mmap(pages + 1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                EINVAL);
    CHECK_EQUAL(munmap(pages, 8 * PAGE), 0);
    // A free place that is hinted is taken.
    hinted = mmap(pages, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(hinted == pages);
    CHECK_EQUAL(munmap(hinted, PAGE), 0);
}

static void part_remap(void) {
    char *pages = map(4 * PAGE, PROT_READ | PROT_WRITE);
    memset(pages, 'm', 4 * PAGE);
    char *grown = mremap(pages, 4 * PAGE, 300 * PAGE, MREMAP_MAYMOVE);
    CHECK(grown != MAP_FAILED);
    CHECK(all_bytes(grown, 4 * PAGE, 'm') && all_bytes(grown + 4 * PAGE, 296 * PAGE, 0));
    char *shrunk = mremap(grown, 300 * PAGE, 2 * PAGE, 0);
    CHECK(shrunk == grown);
    CHECK_EQUAL(touch(grown + 2 * PAGE, 0), SIGSEGV);
    char *target = map(2 * PAGE, PROT_READ);
    CHECK(mremap(shrunk, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, target) == target);
    CHECK(all_bytes(target, 2 * PAGE, 'm'));
    CHECK_EQUAL(touch(shrunk, 0), SIGSEGV);
    CHECK_ERRNO((long)mremap(target + 1, PAGE, PAGE, 0), EINVAL);
    // More than there are addresses: which error it is depends on the version of Linux.
    for (size_t pages_less = 1; pages_less < 1000; pages_less *= 2) {
        CHECK(mremap(target, 2 * PAGE, -pages_less * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
        CHECK(errno == ENOMEM || errno == EINVAL);
    }
    CHECK_EQUAL(munmap(target, 2 * PAGE), 0);
    // realloc of large blocks goes through mremap.
    char *block = malloc(1 << 20);
    CHECK(block != NULL);
    memset(block, 'b', 1 << 20);
    block = realloc(block, 9 << 20);
    CHECK(block != NULL && all_bytes(block, 1 << 20, 'b'));
    free(block);
}

static void part_advise(void) {
    char *pages = map(600 * PAGE, PROT_READ | PROT_WRITE);
    memset(pages, 'd', 600 * PAGE);
    CHECK_EQUAL(madvise(pages + 10 * PAGE, 580 * PAGE, MADV_DONTNEED), 0);
    CHECK(all_bytes(pages, 10 * PAGE, 'd') && all_bytes(pages + 10 * PAGE, 580 * PAGE, 0));
    CHECK(all_bytes(pages + 590 * PAGE, 10 * PAGE, 'd'));
    CHECK_EQUAL(madvise(pages, 600 * PAGE, MADV_WILLNEED), 0);
    CHECK_ERRNO(madvise(pages + 1, PAGE, MADV_DONTNEED), EINVAL);
    CHECK_ERRNO(madvise(pages, PAGE, 9999), EINVAL);
    CHECK_EQUAL(munmap(pages, 600 * PAGE), 0);
    CHECK_ERRNO(madvise(pages, PAGE, MADV_DONTNEED), ENOMEM);
}

static void part_break(void) {
    uintptr_t start = (uintptr_t)syscall(SYS_brk, 0);
    CHECK(start != 0);
    CHECK_EQUAL(syscall(SYS_brk, start + 10 * PAGE), start + 10 * PAGE);
    CHECK(all_bytes((char *)start, 10 * PAGE, 0));
    memset((char *)start, 'k', 10 * PAGE);
    CHECK_EQUAL(syscall(SYS_brk, start), start);
    CHECK_EQUAL(syscall(SYS_brk, start + PAGE), start + PAGE);
    CHECK(all_bytes((char *)start, PAGE, 0));
    // Too much: the break stays where it is.
    CHECK_EQUAL(syscall(SYS_brk, (uintptr_t)1 << 62), start + PAGE);
    CHECK_EQUAL(syscall(SYS_brk, 0), start + PAGE);
    CHECK_EQUAL(syscall(SYS_brk, start), start);
}

static void part_file(void) {
    enum { LENGTH = 3 * PAGE + 100 };
    int file = open("memory.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    char block[LENGTH];
    for (int i = 0; i < LENGTH; i++) {
        block[i] = (char)(i / 16 + 1);
    }
    CHECK_EQUAL(write(file, block, LENGTH), LENGTH);
    char *view = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    CHECK(view != MAP_FAILED);
    CHECK_EQUAL(memcmp(view, block, LENGTH), 0);
    // Past the end of the file but in its last page: zero.
    CHECK(all_bytes(view + LENGTH, 4 * PAGE - LENGTH, 0));
    view[5] = 'z';
    char byte = 0;
    CHECK_EQUAL(pread(file, &byte, 1, 5), 1);
    CHECK_EQUAL(byte, block[5]);
    char *second = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 2 * PAGE);
    CHECK(second != MAP_FAILED);
    CHECK_EQUAL(memcmp(second, block + 2 * PAGE, PAGE), 0);
    CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 100), EINVAL);
    char *beyond = mmap(NULL, 8 * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    CHECK(beyond != MAP_FAILED);
    CHECK_EQUAL(touch(beyond + 6 * PAGE, 0), SIGBUS);
    // The mapping outlives the descriptor and the name.
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(unlink("memory.tmp"), 0);
    CHECK_EQUAL(view[6], block[6]);
    CHECK_EQUAL(munmap(view, LENGTH), 0);
    CHECK_EQUAL(munmap(second, PAGE), 0);
    CHECK_EQUAL(munmap(beyond, 8 * PAGE), 0);
}

static void part_shared(void) {
    char name[40];
    snprintf(name, sizeof name, "/hadal-test.%d", getpid());
    int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(file >= 0);
    CHECK_ERRNO(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
    CHECK_EQUAL(ftruncate(file, 5 * PAGE), 0);
    char *one = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *two = mmap(NULL, 5 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(one != MAP_FAILED && two != MAP_FAILED && one != two);
    memset(one, 's', 5 * PAGE);
    CHECK(all_bytes(two, 5 * PAGE, 's'));
    two[PAGE + 3] = 't';
    char byte = 0;
    CHECK_EQUAL(pread(file, &byte, 1, PAGE + 3), 1);
    CHECK_EQUAL(byte, 't');
    CHECK_EQUAL(one[PAGE + 3], 't');
    CHECK_EQUAL(pwrite(file, "w", 1, 7), 1);
    CHECK_EQUAL(one[7], 'w');
    struct stat status;
    CHECK_EQUAL(fstat(file, &status), 0);
    CHECK_EQUAL(status.st_size, 5 * PAGE);
    CHECK_EQUAL(close(file), 0);
    CHECK_EQUAL(shm_unlink(name), 0);
    CHECK_ERRNO(shm_open(name, O_RDWR, 0600), ENOENT);
    CHECK_EQUAL(two[7], 'w');
    CHECK_EQUAL(munmap(one, 5 * PAGE), 0);
    CHECK_EQUAL(munmap(two, 5 * PAGE), 0);
}

static void part_limits(void) {
    // More than any machine has: an error, not an end of the program.
    CHECK(malloc((size_t)1 << 60) == NULL);
    CHECK_EQUAL(errno, ENOMEM);
    CHECK_ERRNO((long)mmap(NULL, (size_t)1 << 60, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                ENOMEM);
}

static const struct part parts[] = {
    {"anonymous", part_anonymous}, {"protect", part_protect}, {"reserve", part_reserve},
    {"fixed", part_fixed},         {"remap", part_remap},     {"advise", part_advise},
    {"break", part_break},         {"file", part_file},       {"shared", part_shared},
    {"limits", part_limits},
};

int main(int argc, char **argv) {
    // Lines are written as they come: no buffer of stdio is allocated between the calls of a part.
    setvbuf(stdout, NULL, _IONBF, 0);
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
