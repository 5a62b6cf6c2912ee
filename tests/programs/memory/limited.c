// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The limits of the address space (RLIMIT_AS) and of data (RLIMIT_DATA): which calls keep to them, and whose
// they are.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../common/check.h"

#define MIB ((size_t)1 << 20)

static void limit_of(int resource, size_t bytes) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(resource, &limit), 0);
    limit.rlim_cur = bytes;
    CHECK_EQUAL(setrlimit(resource, &limit), 0);
}

static void limit(size_t bytes) { limit_of(RLIMIT_AS, bytes); }

static char *map(char *at, size_t mib, int flags) {
    return mmap(at, mib * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags,
                -1, 0);
}

static void unmap(char *at, size_t mib) { CHECK_EQUAL(munmap(at, mib * MIB), 0); }

static void *nothing(void *argument) { return argument; }

static void mappings(void) {
    limit(1024 * MIB);
    CHECK_ERRNO((intptr_t)map(NULL, 1024, 0), ENOMEM);
    char *at = map(NULL, 600, 0);
    CHECK(at != MAP_FAILED);
    CHECK_ERRNO((intptr_t)map(NULL, 600, 0), ENOMEM);
    // What is replaced does not count.
    CHECK(map(at, 600, MAP_FIXED) == at);
    char *rest = map(NULL, 300, 0);
    CHECK(rest != MAP_FAILED);
    unmap(rest, 300);
    // A limit that was exceeded before lets what there is be.
    limit(100 * MIB);
    CHECK_ERRNO((intptr_t)map(NULL, 1, 0), ENOMEM);
    at[500 * MIB] = 1;
    CHECK(map(at, 600, MAP_FIXED) == MAP_FAILED);
    CHECK_EQUAL(at[500 * MIB], 1);
    unmap(at, 600);
    CHECK((at = map(NULL, 10, 0)) != MAP_FAILED);
    unmap(at, 10);
}

static void growing(void) {
    limit(1024 * MIB);
    char *at = map(NULL, 600, 0);
    CHECK(at != MAP_FAILED);
    CHECK_ERRNO((intptr_t)mremap(at, 600 * MIB, 1100 * MIB, MREMAP_MAYMOVE), ENOMEM);
    CHECK_ERRNO((intptr_t)mremap(at, 600 * MIB, 1100 * MIB, 0), ENOMEM);
    at = mremap(at, 600 * MIB, 700 * MIB, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED);
    CHECK(mremap(at, 700 * MIB, 500 * MIB, 0) == at);
    unmap(at, 500);
}

static void heap(void) {
    limit(1024 * MIB);
    CHECK_ERRNO((intptr_t)sbrk((intptr_t)(1024 * MIB)), ENOMEM);
    CHECK(sbrk((intptr_t)(100 * MIB)) != (void *)-1);
    CHECK(sbrk(-(intptr_t)(100 * MIB)) != (void *)-1);
    CHECK(malloc(2048 * MIB) == NULL && errno == ENOMEM);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    CHECK_EQUAL(pthread_attr_setstacksize(&attributes, 1100 * MIB), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, nothing, NULL), EAGAIN);
    CHECK_EQUAL(pthread_attr_setstacksize(&attributes, 100 * MIB), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, nothing, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
}

static void wait_for(pid_t child) {
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQUAL(status, 0);
}

static void children(void) {
    limit(1024 * MIB);
    pid_t child = fork();
    if (child == 0) {
        _exit(map(NULL, 1024, 0) != MAP_FAILED || map(NULL, 500, 0) == MAP_FAILED);
    }
    wait_for(child);
    // A child that shares the memory has a limit of its own all the same.
    child = vfork();
    if (child == 0) {
        struct rlimit low = {10 * MIB, 1024 * MIB};
        int failed = setrlimit(RLIMIT_AS, &low) != 0 || map(NULL, 100, 0) != MAP_FAILED;
        _exit(failed);
    }
    wait_for(child);
    char *at = map(NULL, 100, 0);
    CHECK(at != MAP_FAILED);
    unmap(at, 100);
    limit(200 * MIB);
    CHECK_EQUAL(system("ulimit -v && exec true"), 0);
}

static void first_stack(void) {
    // It may grow up to its own limit, and is not there before.
    limit(64 * MIB);
    volatile char large[4 * 1024 * 1024];
    for (size_t at = 0; at < sizeof large; at += 4096) {
        large[at] = 1;
    }
    CHECK_EQUAL(large[sizeof large - 4096], 1);
}

/* --- data ----------------------------------------------------------------------------------------------- */

static size_t shown(const char *file, const char *line) {
    char text[4096];
    FILE *from = fopen(file, "r");
    CHECK(from != NULL);
    size_t bytes = fread(text, 1, sizeof text - 1, from);
    text[bytes] = 0;
    fclose(from);
    const char *at = strstr(text, line);
    CHECK(at != NULL);
    return (size_t)atol(at + strlen(line));
}

static size_t data_bytes(void) { return shown("/proc/self/status", "VmData:") << 10; }

// So much more data than there is.
static void limit_data(size_t more) { limit_of(RLIMIT_DATA, data_bytes() + more); }

static char *map_as(size_t mib, int protection, int flags, int file) {
    return mmap(NULL, mib * MIB, protection, flags, file, 0);
}

enum { READ = PROT_READ, BOTH = PROT_READ | PROT_WRITE, PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS };

static void data(void) {
    limit_of(RLIMIT_AS, RLIM_INFINITY);
    int file = memfd_create("content", 0);
    CHECK_EQUAL(ftruncate(file, 64 * MIB), 0);
    limit_data(20 * MIB);
    CHECK_ERRNO((intptr_t)map_as(21, BOTH, PRIVATE, -1), ENOMEM);
    CHECK_ERRNO((intptr_t)map_as(21, BOTH, MAP_PRIVATE, file), ENOMEM);
    size_t before = data_bytes();
    char *at = map_as(16, BOTH, PRIVATE, -1);
    CHECK(at != MAP_FAILED);
    CHECK_EQUAL(data_bytes(), before + 16 * MIB);
    CHECK_ERRNO((intptr_t)map_as(16, BOTH, PRIVATE, -1), ENOMEM);
    // What is shared or cannot be written is no data.
    char *others[] = {map_as(32, BOTH, MAP_SHARED | MAP_ANONYMOUS, -1), map_as(32, BOTH, MAP_SHARED, file),
                      map_as(32, READ, PRIVATE, -1), map_as(32, PROT_NONE, PRIVATE, -1),
                      map_as(32, READ | PROT_EXEC, MAP_PRIVATE, file)};
    for (size_t index = 0; index < sizeof others / sizeof *others; index++) {
        CHECK(others[index] != MAP_FAILED);
    }
    CHECK_EQUAL(data_bytes(), before + 16 * MIB);
    // It becomes some when it may be written, and is none any more when it may not.
    char *plain = others[2];
    CHECK_ERRNO(mprotect(plain, 8 * MIB, BOTH), ENOMEM);
    CHECK_EQUAL(mprotect(plain, 2 * MIB, BOTH), 0);
    CHECK_EQUAL(mprotect(at, 16 * MIB, BOTH | PROT_EXEC), 0);
    CHECK_EQUAL(mprotect(at, 8 * MIB, READ), 0);
    CHECK_EQUAL(mprotect(plain, 8 * MIB, BOTH), 0);
    CHECK_EQUAL(data_bytes(), before + 16 * MIB);
    // The part before what is too much is changed.
    CHECK_EQUAL(mprotect(plain, 8 * MIB, READ), 0);
    CHECK_EQUAL(mprotect(plain + 4 * MIB, MIB, READ | PROT_EXEC), 0);
    CHECK_ERRNO(mprotect(plain, 32 * MIB, BOTH), ENOMEM);
    CHECK_EQUAL(data_bytes(), before + 13 * MIB);
    // A mapping that is replaced makes room.
    CHECK_EQUAL(munmap(plain, 32 * MIB), 0);
    CHECK_ERRNO((intptr_t)map_as(18, BOTH, PRIVATE, -1), ENOMEM);
    CHECK(mmap(at, 16 * MIB, BOTH, PRIVATE | MAP_FIXED, -1, 0) == at);
    CHECK_ERRNO((intptr_t)mremap(at, 16 * MIB, 24 * MIB, MREMAP_MAYMOVE), ENOMEM);
    at = mremap(at, 16 * MIB, 18 * MIB, MREMAP_MAYMOVE);
    CHECK(at != MAP_FAILED);
    CHECK(mremap(others[3], 32 * MIB, 40 * MIB, MREMAP_MAYMOVE) != MAP_FAILED);
    char *target = others[4];
    CHECK_ERRNO((intptr_t)mremap(at, 18 * MIB, 26 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, target), ENOMEM);
    CHECK_EQUAL(data_bytes(), before + 18 * MIB);
    CHECK_EQUAL(munmap(at, 18 * MIB) + munmap(others[0], 32 * MIB) + munmap(others[1], 32 * MIB), 0);
    close(file);
}

static void data_of_heap(void) {
    limit_data(4 * MIB);
    char *end = sbrk(0);
    CHECK_ERRNO((intptr_t)sbrk(8 * MIB), ENOMEM);
    CHECK(sbrk(0) == end);
    CHECK(sbrk(3 * MIB) == end);
    end[3 * MIB - 1] = 1;
    CHECK_ERRNO((intptr_t)sbrk(2 * MIB), ENOMEM);
    CHECK(sbrk(-(intptr_t)(3 * MIB)) != (void *)-1);
    CHECK(malloc(16 * MIB) == NULL && errno == ENOMEM);
    // With none at all the heap does not grow, and the hard limit bounds mappings.
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, data_bytes() + 8 * MIB};
        CHECK_EQUAL(setrlimit(RLIMIT_DATA, &none), 0);
        CHECK_ERRNO((intptr_t)sbrk(4096), ENOMEM);
        CHECK_ERRNO((intptr_t)map_as(9, BOTH, PRIVATE, -1), ENOMEM);
        CHECK(map_as(7, BOTH, PRIVATE, -1) != MAP_FAILED);
        _exit(0);
    }
    wait_for(child);
    limit_of(RLIMIT_DATA, RLIM_INFINITY - 1);
    char *at = map_as(64, BOTH, PRIVATE, -1);
    CHECK(at != MAP_FAILED && munmap(at, 64 * MIB) == 0);
}

static void data_of_children(void) {
    limit_data(8 * MIB);
    pid_t child = fork();
    if (child == 0) {
        char *at = map_as(7, BOTH, PRIVATE, -1);
        _exit(at == MAP_FAILED || map_as(2, BOTH, PRIVATE, -1) != MAP_FAILED);
    }
    wait_for(child);
    child = vfork();
    if (child == 0) {
        struct rlimit low = {MIB / 2, 1024 * MIB};
        int failed = setrlimit(RLIMIT_DATA, &low) != 0 || map_as(1, BOTH, PRIVATE, -1) != MAP_FAILED;
        _exit(failed);
    }
    wait_for(child);
    char *at = map_as(7, BOTH, PRIVATE, -1);
    CHECK(at != MAP_FAILED && munmap(at, 7 * MIB) == 0);
    CHECK_EQUAL(system("ulimit -d > /dev/null && exec true"), 0);
    // Another process sets the limit.
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        char byte;
        CHECK_EQUAL(read(ends[0], &byte, 1), 1);
        CHECK_ERRNO((intptr_t)map_as(1, BOTH, PRIVATE, -1), ENOMEM);
        _exit(0);
    }
    struct rlimit low = {4096, 1024 * MIB};
    CHECK_EQUAL(prlimit(child, RLIMIT_DATA, &low, NULL), 0);
    CHECK_EQUAL(write(ends[1], "", 1), 1);
    wait_for(child);
    close(ends[0]);
    close(ends[1]);
    // The first stack is no data.
    limit_data(0);
    volatile char large[2 * 1024 * 1024];
    for (size_t page = 0; page < sizeof large; page += 4096) {
        large[page] = 1;
    }
    CHECK_EQUAL(large[sizeof large - 4096], 1);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"mappings", mappings},
        {"growing", growing},
        {"heap", heap},
        {"children", children},
        {"first-stack", first_stack},
        {"data", data},
        {"data-of-heap", data_of_heap},
        {"data-of-children", data_of_children},
    };
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
