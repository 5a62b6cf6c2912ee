// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads begin, end, are joined, detached, and get the stack they ask for.

#include "set.h"

#include <limits.h>
#include <stdint.h>
#include <sys/syscall.h>

static void *square(void *argument) {
    intptr_t n = (intptr_t)argument;
    return (void *)(n * n);
}

static void *exits_early(void *argument) { pthread_exit(argument); }

void part_create(void) {
    enum { COUNT = 32 };
    pthread_t threads[COUNT];
    intptr_t sum = 0;
    for (intptr_t i = 0; i < COUNT; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, square, (void *)i), 0);
    }
    for (int i = 0; i < COUNT; i++) {
        void *result;
        CHECK_EQUAL(pthread_join(threads[i], &result), 0);
        sum += (intptr_t)result;
    }
    printf("  sum of squares: %ld\n", (long)sum);

    void *result = NULL;
    CHECK_EQUAL(pthread_create(&threads[0], NULL, exits_early, &sum), 0);
    CHECK_EQUAL(pthread_join(threads[0], &result), 0);
    CHECK(result == &sum);
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    CHECK_EQUAL(syscall(SYS_gettid), getpid());
}

static void *measure_stack(void *argument) {
    pthread_attr_t attributes;
    size_t *size = argument;
    void *base;
    CHECK_EQUAL(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_EQUAL(pthread_attr_getstack(&attributes, &base, size), 0);
    char here;
    CHECK((char *)base <= &here && &here < (char *)base + *size);
    pthread_attr_destroy(&attributes);

    // Most of the stack is really there.
    enum { PIECE = 3 << 20 };
    if (*size > PIECE + (1 << 20)) {
        volatile char piece[PIECE];
        for (int i = 0; i < PIECE; i += 4096) {
            piece[i] = (char)(i >> 12);
        }
        CHECK_EQUAL(piece[5 << 12], 5);
    }
    return NULL;
}

static void *on_own_stack(void *argument) {
    uintptr_t *address = argument;
    volatile char here = 1;
    *address = (uintptr_t)&here;
    return NULL;
}

static int detached_ran;

static void *detached(void *argument) {
    __atomic_store_n(&detached_ran, (int)(intptr_t)argument, __ATOMIC_RELEASE);
    return NULL;
}

void part_attributes(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t size = 0;
    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setstacksize(&attributes, 5 << 20), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, measure_stack, &size), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK(size >= 4 << 20);
    pthread_attr_destroy(&attributes);

    static char stack[256 * 1024] __attribute__((aligned(64)));
    uintptr_t address = 0;
    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, on_own_stack, &address), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    CHECK(address >= (uintptr_t)stack && address < (uintptr_t)stack + sizeof stack);
    pthread_attr_destroy(&attributes);

    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED), 0);
    CHECK_EQUAL(pthread_create(&thread, &attributes, detached, (void *)17), 0);
    while (__atomic_load_n(&detached_ran, __ATOMIC_ACQUIRE) != 17) {
        sched_yield();
    }
    pthread_attr_destroy(&attributes);
    printf("  stacks of the size and at the place asked for\n");
}

static void *count_up(void *argument) {
    __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELAXED);
    return NULL;
}

// Many short threads, some joined and some detached.
void part_churn(void) {
    int ran = 0;
    for (int round = 0; round < 50; round++) {
        pthread_t threads[8];
        for (int i = 0; i < 8; i++) {
            CHECK_EQUAL(pthread_create(&threads[i], NULL, count_up, &ran), 0);
        }
        for (int i = 0; i < 8; i++) {
            CHECK_EQUAL(i % 2 == 0 ? pthread_join(threads[i], NULL) : pthread_detach(threads[i]), 0);
        }
    }
    while (__atomic_load_n(&ran, __ATOMIC_RELAXED) != 400) {
        sched_yield();
    }
    printf("  400 threads came and went\n");
}
