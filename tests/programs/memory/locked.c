// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Locked memory: what counts, what is filled, limits, and what locks forbid.

#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "../common/check.h"

#define PAGE 4096L

static long locked_pages(void) {
    char line[256];
    long kib = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        sscanf(line, "VmLck: %ld", &kib);
    }
    fclose(file);
    CHECK(kib >= 0);
    return kib / 4;
}

static char *map(long pages, int prot, int flags) {
    char *at = mmap(NULL, (size_t)(pages * PAGE), prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    CHECK(at != MAP_FAILED);
    return at;
}

static void unmap(char *at, long pages) { CHECK_EQUAL(munmap(at, (size_t)(pages * PAGE)), 0); }

// Page faults that touching some pages takes.
static long faults(char *at, long pages) {
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (long page = 0; page < pages; page++) {
        *(volatile char *)(at + page * PAGE) += 1;
    }
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

static void limit(long pages) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    limit.rlim_cur = (rlim_t)(pages * PAGE);
    CHECK_EQUAL(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

static void counting(void) {
    CHECK_EQUAL(locked_pages(), 0);
    char *at = map(100, PROT_READ | PROT_WRITE, MAP_NORESERVE);
    CHECK_EQUAL(mlock(at + 10 * PAGE, 50 * PAGE), 0);
    CHECK_EQUAL(locked_pages(), 50);
    CHECK(faults(at + 10 * PAGE, 50) < 10);
    // Parts of pages are pages.
    CHECK_EQUAL(mlock(at + 60 * PAGE + 4095, 2), 0);
    CHECK_EQUAL(locked_pages(), 52);
    CHECK_EQUAL(mlock(at + 20 * PAGE, 10 * PAGE), 0);
    CHECK_EQUAL(locked_pages(), 52);
    CHECK_EQUAL(munlock(at + 20 * PAGE, 1), 0);
    CHECK_EQUAL(locked_pages(), 51);
    CHECK_EQUAL(munmap(at + 30 * PAGE, 5 * PAGE), 0);
    CHECK_EQUAL(locked_pages(), 46);
    CHECK_EQUAL(munmap(at, 30 * PAGE), 0);
    CHECK_EQUAL(munmap(at + 35 * PAGE, 65 * PAGE), 0);
    CHECK_EQUAL(locked_pages(), 0);
    // Moved and grown, and filled where it has grown.
    at = map(20, PROT_READ | PROT_WRITE, 0);
    CHECK_EQUAL(mlock(at, 20 * PAGE), 0);
    char *moved = mremap(at, 20 * PAGE, 300 * PAGE, MREMAP_MAYMOVE);
    CHECK(moved != MAP_FAILED);
    CHECK_EQUAL(locked_pages(), 300);
    CHECK(faults(moved, 300) < 10);
    moved = mremap(moved, 300 * PAGE, 7 * PAGE, 0);
    CHECK_EQUAL(locked_pages(), 7);
    unmap(moved, 7);
    CHECK_EQUAL(locked_pages(), 0);
    at = map(60, PROT_READ | PROT_WRITE, MAP_LOCKED);
    CHECK_EQUAL(locked_pages(), 60);
    CHECK(faults(at, 60) < 10);
    unmap(at, 60);
    // A page of the stack.
    char local[64] = {0};
    CHECK_EQUAL(mlock(local, 1), 0);
    CHECK_EQUAL(locked_pages(), 1);
    CHECK_EQUAL(munlock(local, 1), 0);
}

static void errors(void) {
    char *at = map(30, PROT_READ | PROT_WRITE, 0);
    unmap(at + 10 * PAGE, 10);
    CHECK_ERRNO(mlock(at, 30 * PAGE), ENOMEM);
    CHECK_EQUAL(locked_pages(), 10);
    CHECK_ERRNO(munlock(at + 5 * PAGE, 10 * PAGE), ENOMEM);
    CHECK_EQUAL(locked_pages(), 5);
    CHECK_ERRNO(mlock(at + 12 * PAGE, PAGE), ENOMEM);
    CHECK_EQUAL(munlock(at, 10 * PAGE), 0);
    CHECK_EQUAL(mlock(at + 12 * PAGE, 0), 0);
    CHECK_EQUAL(munlock(at + 12 * PAGE, 0), 0);
    CHECK_EQUAL(mlock(at, (size_t)-1), 0);
    CHECK_ERRNO(mlock(at, (size_t)-1 - 8192), EINVAL);
    CHECK_ERRNO(syscall(SYS_mlock2, at, PAGE, 2), EINVAL);
    CHECK_ERRNO(mlockall(0), EINVAL);
    CHECK_ERRNO(mlockall(MCL_ONFAULT), EINVAL);
    CHECK_ERRNO(mlockall(8), EINVAL);
    // What cannot be touched cannot be filled, but is locked.
    CHECK_EQUAL(mprotect(at, PAGE, PROT_NONE), 0);
    CHECK_ERRNO(mlock(at, PAGE), ENOMEM);
    CHECK_EQUAL(locked_pages(), 1);
    CHECK_EQUAL(munlock(at, PAGE), 0);
    unmap(at, 30);
    CHECK_EQUAL(locked_pages(), 0);
}

static void on_fault(void) {
    char *at = map(200, PROT_READ | PROT_WRITE, 0);
    CHECK_EQUAL(madvise(at, 200 * PAGE, MADV_NOHUGEPAGE), 0);
    CHECK_EQUAL(syscall(SYS_mlock2, at, 200 * PAGE, MLOCK_ONFAULT), 0);
    CHECK_EQUAL(locked_pages(), 200);
    CHECK(faults(at, 200) > 0);
    CHECK_EQUAL(faults(at, 200), 0);
    CHECK_EQUAL(syscall(SYS_mlock2, at, 100 * PAGE, 0), 0);
    CHECK_EQUAL(locked_pages(), 200);
    unmap(at, 200);
}

static void advice(void) {
    char *at = map(4, PROT_READ | PROT_WRITE, 0);
    memset(at, 7, 4 * PAGE);
    CHECK_EQUAL(mlock(at + 2 * PAGE, PAGE), 0);
    CHECK_ERRNO(madvise(at, 4 * PAGE, MADV_DONTNEED), EINVAL);
    CHECK_EQUAL(at[0], 0);
    CHECK_EQUAL(at[2 * PAGE], 7);
    CHECK_EQUAL(at[3 * PAGE], 7);
    CHECK_ERRNO(madvise(at + 2 * PAGE, PAGE, MADV_FREE), EINVAL);
    CHECK_ERRNO(madvise(at + 2 * PAGE, PAGE, 20), EINVAL);
    CHECK_ERRNO(madvise(at + 2 * PAGE, PAGE, 21), EINVAL);
    CHECK_EQUAL(madvise(at, 4 * PAGE, MADV_WILLNEED), 0);
    CHECK_ERRNO(msync(at, 4 * PAGE, MS_INVALIDATE), EBUSY);
    CHECK_EQUAL(msync(at, 2 * PAGE, MS_INVALIDATE), 0);
    CHECK_EQUAL(madvise(at, 4 * PAGE, 24), 0);
    CHECK_EQUAL(at[2 * PAGE], 0);
    unmap(at, 4);
}

static void *nothing(void *argument) {
    *(long *)argument = locked_pages();
    return NULL;
}

static void all(void) {
    char *before = map(100, PROT_READ | PROT_WRITE, 0);
    char *none = map(50, PROT_NONE, 0);
    CHECK_EQUAL(mlockall(MCL_CURRENT), 0);
    long now = locked_pages();
    CHECK(now >= 150);
    CHECK(faults(before, 100) < 10);
    char *after = map(30, PROT_READ | PROT_WRITE, 0);
    CHECK_EQUAL(locked_pages(), now);
    unmap(after, 30);
    CHECK_EQUAL(munlockall(), 0);
    CHECK_EQUAL(locked_pages(), 0);

    CHECK_EQUAL(mlockall(MCL_FUTURE), 0);
    CHECK_EQUAL(locked_pages(), 0);
    after = map(40, PROT_READ | PROT_WRITE, 0);
    CHECK_EQUAL(locked_pages(), 40);
    CHECK(faults(after, 40) < 10);
    unmap(after, 40);
    // The heap, too.
    char *heap = sbrk(0);
    CHECK(sbrk(64 * PAGE) == heap);
    CHECK_EQUAL(locked_pages(), 64);
    CHECK_EQUAL(brk(heap), 0);
    CHECK_EQUAL(locked_pages(), 0);
    // What becomes usable later is filled then.
    after = map(50, PROT_NONE, 0);
    CHECK_EQUAL(locked_pages(), 50);
    CHECK_EQUAL(mprotect(after, 50 * PAGE, PROT_READ | PROT_WRITE), 0);
    CHECK(faults(after, 50) < 10);
    unmap(after, 50);
    pthread_t thread;
    long seen = 0;
    CHECK_EQUAL(pthread_create(&thread, NULL, nothing, &seen), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK(seen > 16);
    CHECK_EQUAL(munlockall(), 0);
    CHECK_EQUAL(locked_pages(), 0);

    CHECK_EQUAL(mlockall(MCL_FUTURE | MCL_ONFAULT), 0);
    after = map(40, PROT_READ | PROT_WRITE, 0);
    CHECK_EQUAL(locked_pages(), 40);
    CHECK(faults(after, 40) > 0);
    CHECK_EQUAL(munlockall(), 0);
    CHECK_EQUAL(locked_pages(), 0);
    unmap(after, 40);
    unmap(before, 100);
    unmap(none, 50);
}

static void limits(void) {
    struct rlimit before;
    CHECK_EQUAL(getrlimit(RLIMIT_MEMLOCK, &before), 0);
    uid_t user = geteuid();
    char *at = map(100, PROT_READ | PROT_WRITE, 0);
    if (user == 0) {
        // The superuser has no limit, but others do.
        limit(1);
        CHECK_EQUAL(mlock(at, 10 * PAGE), 0);
        CHECK_EQUAL(munlock(at, 10 * PAGE), 0);
        CHECK_EQUAL(seteuid(65534), 0);
    }
    limit(20);
    CHECK_EQUAL(mlock(at, 15 * PAGE), 0);
    CHECK_ERRNO(mlock(at + 50 * PAGE, 6 * PAGE), ENOMEM);
    CHECK_EQUAL(mlock(at + 10 * PAGE, 10 * PAGE), 0);
    CHECK_EQUAL(locked_pages(), 20);
    CHECK_ERRNO(mlock(at + 50 * PAGE, 1), ENOMEM);
    CHECK_EQUAL(munlock(at, 5 * PAGE), 0);
    CHECK(mmap(NULL, 6 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED);
    CHECK_EQUAL(errno, EAGAIN);
    char *locked = map(5, PROT_READ | PROT_WRITE, MAP_LOCKED);
    CHECK(mremap(locked, 5 * PAGE, 6 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    CHECK_EQUAL(errno, EAGAIN);
    unmap(locked, 5);
    CHECK_ERRNO(mlockall(MCL_CURRENT), ENOMEM);
    CHECK_EQUAL(locked_pages(), 15);
    CHECK_EQUAL(mlockall(MCL_FUTURE), 0);
    CHECK(mmap(NULL, 6 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    CHECK_EQUAL(errno, EAGAIN);
    locked = map(5, PROT_READ | PROT_WRITE, 0);
    char *heap = sbrk(0);
    CHECK(sbrk(2 * PAGE) == (void *)-1);
    CHECK_EQUAL(errno, ENOMEM);
    CHECK(sbrk(0) == heap);
    CHECK_EQUAL(munlockall(), 0);
    unmap(locked, 5);
    limit(0);
    CHECK_ERRNO(mlock(at, PAGE), EPERM);
    CHECK_ERRNO(mlock(at, 0), EPERM);
    CHECK_ERRNO(mlockall(MCL_FUTURE), EPERM);
    CHECK(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0) == MAP_FAILED);
    CHECK_EQUAL(errno, EPERM);
    CHECK_EQUAL(munlock(at, PAGE), 0);
    CHECK_EQUAL(munlockall(), 0);
    if (user == 0) {
        CHECK_EQUAL(seteuid(0), 0);
    }
    CHECK_EQUAL(setrlimit(RLIMIT_MEMLOCK, &before), 0);
    unmap(at, 100);
    CHECK_EQUAL(locked_pages(), 0);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"counting", counting}, {"errors", errors}, {"on-fault", on_fault},
        {"advice", advice},     {"all", all},       {"limits", limits},
    };
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
