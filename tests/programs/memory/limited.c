// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The limit of the address space (RLIMIT_AS): which calls keep to it, and whose it is.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "../common/check.h"

#define MIB ((size_t)1 << 20)

static void limit(size_t bytes) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = bytes;
    CHECK_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
}

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

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"mappings", mappings}, {"growing", growing},         {"heap", heap},
        {"children", children}, {"first-stack", first_stack},
    };
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
