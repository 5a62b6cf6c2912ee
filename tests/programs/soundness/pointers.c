// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Bad pointers in system calls: EFAULT, whatever the address, and nothing read or written. One line per call.

#define _GNU_SOURCE
#include "../common/check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

// Of linux/futex.h, which musl's compiler wrapper does not find.
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, FUTEX_WAIT_BITSET_PRIVATE = 137 };
static const uint32_t FUTEX_BITSET_MATCH_ANY = 0xffffffffu;

static uintptr_t unmapped;
static uintptr_t barred;

// Addresses that no program owns: null, the first page, the kernel's image, its direct map, the last page,
// the edges of the canonical halves, and two places of this program's window.
static uintptr_t bad_address(int i) {
    const uintptr_t addresses[] = {0,
                                   8,
                                   0xffffffff80000000u,
                                   0xffffffff80100000u,
                                   0xffff800000000000u,
                                   0xffff888000000000u,
                                   0xfffffffffffff000u,
                                   0x0000800000000000u,
                                   0x8000000000000000u,
                                   0x1234567812345678u & ~(uintptr_t)7,
                                   unmapped,
                                   barred};
    return i < (int)(sizeof addresses / sizeof addresses[0]) ? addresses[i] : 1;
}

enum { BAD_ADDRESSES = 12 };

static int is_empty(int pipe_end) {
    struct pollfd poll_end = {.fd = pipe_end, .events = POLLIN};
    return poll(&poll_end, 1, 0) == 0;
}

static void reads(void) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    int zero = open("/dev/zero", O_RDONLY);
    CHECK(zero >= 0);
    int file = open("pointers.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    CHECK_EQUAL(write(file, "0123456789abcdef", 16), 16);
    for (int i = 0; i < BAD_ADDRESSES; i++) {
        CHECK_EQUAL(write(ends[1], "x", 1), 1);
        CHECK_ERRNO(syscall(SYS_read, ends[0], bad_address(i), 1), EFAULT);
        CHECK_ERRNO(syscall(SYS_read, zero, bad_address(i), 64), EFAULT);
        CHECK_ERRNO(syscall(SYS_pread64, file, bad_address(i), 16, 0), EFAULT);
        CHECK_ERRNO(syscall(SYS_fstat, file, bad_address(i)), EFAULT);
        CHECK_ERRNO(syscall(SYS_getrandom, bad_address(i), 16, 0), EFAULT);
        CHECK_ERRNO(syscall(SYS_nanosleep, bad_address(i), 0), EFAULT);
    }
    int left = 0;
    CHECK_EQUAL(ioctl(ends[0], FIONREAD, &left), 0);
    CHECK_EQUAL(left, BAD_ADDRESSES);
    close(ends[0]);
    close(ends[1]);
    close(zero);
    close(file);
    CHECK_EQUAL(unlink("pointers.tmp"), 0);
    printf("read: ok\n");
}

static void writes(void) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    int file = open("pointers.tmp", O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(file >= 0);
    for (int i = 0; i < BAD_ADDRESSES; i++) {
        CHECK_ERRNO(syscall(SYS_write, ends[1], bad_address(i), 32), EFAULT);
        CHECK(is_empty(ends[0]));
        CHECK_ERRNO(syscall(SYS_write, file, bad_address(i), 32), EFAULT);
        CHECK_ERRNO(syscall(SYS_writev, ends[1], bad_address(i), 1), EFAULT);
        CHECK(is_empty(ends[0]));
        // The second part is bad, of few bytes and of more.
        for (size_t bytes = 8; bytes <= 256; bytes *= 32) {
            char good[256] = {0};
            struct iovec parts[2] = {{good, bytes}, {(void *)bad_address(i), 8}};
            CHECK_ERRNO(syscall(SYS_writev, ends[1], parts, 2), EFAULT);
            CHECK(is_empty(ends[0]));
        }
    }
    struct stat status;
    CHECK_EQUAL(fstat(file, &status), 0);
    CHECK_EQUAL(status.st_size, 0);
    close(ends[0]);
    close(ends[1]);
    close(file);
    CHECK_EQUAL(unlink("pointers.tmp"), 0);
    printf("write: ok\n");
}

static void opens(void) {
    struct stat status;
    for (int i = 0; i < BAD_ADDRESSES; i++) {
        CHECK_ERRNO(syscall(SYS_openat, AT_FDCWD, bad_address(i), O_RDONLY), EFAULT);
        CHECK_ERRNO(syscall(SYS_newfstatat, AT_FDCWD, bad_address(i), &status, 0), EFAULT);
        CHECK_ERRNO(syscall(SYS_unlink, bad_address(i)), EFAULT);
    }
    printf("openat: ok\n");
}

static unsigned long mask(void) {
    unsigned long now = 0;
    CHECK_EQUAL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, sizeof now), 0);
    return now;
}

static void masks(void) {
    enum { NOTHING = 77 };
    const unsigned long before = mask(), all = ~0ul;
    for (int i = 1; i < BAD_ADDRESSES; i++) {
        CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_SETMASK, bad_address(i), NULL, sizeof all), EFAULT);
        CHECK_ERRNO(syscall(SYS_rt_sigprocmask, NOTHING, bad_address(i), NULL, sizeof all), EFAULT);
        CHECK_EQUAL(mask(), before);
    }
    // The last bytes of memory before some that is missing.
    CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_SETMASK, unmapped - 4, NULL, sizeof all), EFAULT);
    CHECK_ERRNO(syscall(SYS_rt_sigprocmask, NOTHING, &all, NULL, sizeof all), EINVAL);
    CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all / 2), EINVAL);
    CHECK_EQUAL(mask(), before);
    CHECK_EQUAL(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof all), 0);
    printf("blocked at most: %#lx\n", mask());
    CHECK_EQUAL(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before), 0);
    CHECK_EQUAL(mask(), before);
    printf("rt_sigprocmask: ok\n");
}

static void futexes(void) {
    struct timespec moment = {0, 1000000};
    for (int i = 0; i < BAD_ADDRESSES; i++) {
        CHECK_ERRNO(syscall(SYS_futex, bad_address(i) & ~(uintptr_t)3, FUTEX_WAIT_PRIVATE, 0, &moment),
                    EFAULT);
        CHECK_ERRNO(syscall(SYS_futex, bad_address(i) & ~(uintptr_t)3, FUTEX_WAIT_BITSET_PRIVATE, 0, &moment,
                            NULL, FUTEX_BITSET_MATCH_ANY),
                    EFAULT);
    }
    // A wake needs no memory behind the address, only one of the program's half.
    CHECK_EQUAL(syscall(SYS_futex, unmapped, FUTEX_WAKE_PRIVATE, 1), 0);
    CHECK_ERRNO(syscall(SYS_futex, 0xffffffff80000000u, FUTEX_WAKE_PRIVATE, 1), EFAULT);
    CHECK_ERRNO(syscall(SYS_futex, unmapped + 2, FUTEX_WAKE_PRIVATE, 1), EINVAL);
    printf("futex: ok\n");
}

// Buffers of 64 bytes of which the last 32 are not there.
static void end_of_mapping(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_EQUAL(munmap(pages + 4096, 4096), 0);
    char *edge = pages + 4096 - 32;
    memset(pages, 'e', 4096);

    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    long result = write(ends[1], edge, 64);
    if (result == -1) {
        CHECK_EQUAL(errno, EFAULT);
        CHECK(is_empty(ends[0]));
    } else {
        CHECK_EQUAL(result, 32);
    }
    close(ends[0]);
    close(ends[1]);

    // A path that runs over the end without a zero byte.
    CHECK_ERRNO(open(edge, O_RDONLY), EFAULT);

    int zero = open("/dev/zero", O_RDONLY);
    CHECK(zero >= 0);
    result = read(zero, edge, 64);
    CHECK(result == 32 || (result == -1 && errno == EFAULT));
    CHECK(edge[-1] == 'e');
    close(zero);

    struct stat status;
    CHECK_EQUAL(stat("/", &status), 0);
    CHECK_ERRNO(syscall(SYS_newfstatat, AT_FDCWD, "/", edge, 0), EFAULT);

    // A string that ends right at the edge is good.
    memcpy(pages + 4096 - 10, "/dev/null", 10);
    int null = open(pages + 4096 - 10, O_RDONLY);
    CHECK(null >= 0);
    close(null);
    CHECK_EQUAL(munmap(pages, 4096), 0);
    printf("end of a mapping: ok\n");
}

// Memory that the program may only read is not written for it.
static void read_only(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    memset(page, 'r', 4096);
    CHECK_EQUAL(mprotect(page, 4096, PROT_READ), 0);
    int zero = open("/dev/zero", O_RDONLY);
    CHECK(zero >= 0);
    CHECK_ERRNO(read(zero, page, 100), EFAULT);
    CHECK_ERRNO(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, page), EFAULT);
    CHECK(page[0] == 'r' && page[99] == 'r');
    close(zero);
    CHECK_EQUAL(munmap(page, 4096), 0);
    printf("read-only memory: ok\n");
}

int main(void) {
    char *pages = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    memset(pages, 1, 3 * 4096);
    CHECK_EQUAL(munmap(pages + 4096, 4096), 0);
    unmapped = (uintptr_t)pages + 4096;
    void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(none != MAP_FAILED);
    barred = (uintptr_t)none;
    reads();
    writes();
    opens();
    masks();
    futexes();
    end_of_mapping();
    read_only();
    return 0;
}
