// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fibers.
#include "parts.h"

#define MANY 4000

static int turns;

static void *takes_turns(void *arg) {
    for (int i = 0; i < 3; i++) {
        turns++;
        hrt_fiber_yield();
    }
    return arg;
}

static void *exits(void *arg) { hrt_fiber_exit(arg); }

static void *has_children(void *arg) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQUAL(hrt_fiber_create(NULL, i % 2 ? exits : takes_turns, NULL, 0), HRT_OK);
    }
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
    return arg;
}

static char order[32];

static void *writes(void *arg) {
    for (int i = 0; i < 3; i++) {
        strcat(order, (const char *)arg);
        hrt_fiber_yield();
    }
    return NULL;
}

// Each fiber has its own rounding mode, as the C ABI says of calls.
static void *rounds(void *arg) {
    uint32_t mode = (uint32_t)(long)arg << 13;
    __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x6000u) | mode);
    for (int i = 0; i < 5; i++) {
        hrt_fiber_yield();
        CHECK_EQUAL(__builtin_ia32_stmxcsr() & 0x6000, mode);
    }
    return NULL;
}

// Leaves fibers behind: they end with their thread.
static void *leaves_fibers(void *arg) {
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(hrt_fiber_create(NULL, takes_turns, NULL, 0), HRT_OK);
    }
    hrt_fiber_yield();
    return arg;
}

static void *ends_thread(void *arg) { hrt_thread_exit(arg); }

static void *is_ended(void *arg) {
    CHECK_EQUAL(hrt_fiber_create(NULL, ends_thread, arg, 0), HRT_OK);
    for (;;) {
        hrt_fiber_yield();
    }
    return NULL;
}

void fibers(void) {
    static hrt_fiber_t *many[MANY];
    hrt_fiber_t *fiber;
    hrt_thread_t thread;
    void *result;
    CHECK(!hrt_fiber_yield());
    CHECK(hrt_fiber_self() != NULL && hrt_fiber_self() == hrt_fiber_self());
    for (long i = 0; i < MANY; i++) {
        CHECK_EQUAL(hrt_fiber_create(&many[i], takes_turns, number(i), HRT_FIBER_STACK_MIN), HRT_OK);
    }
    while (turns < 3 * MANY) {
        CHECK(hrt_fiber_yield());
    }
    for (long i = 0; i < MANY; i++) {
        CHECK_EQUAL(hrt_fiber_join(many[i], &result), HRT_OK);
        CHECK_EQUAL((long)result, i);
    }
    CHECK(!hrt_fiber_yield());
    CHECK_EQUAL(hrt_fiber_create(NULL, writes, "a", 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_create(NULL, writes, "b", 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_create(&fiber, writes, "c", 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_yield_to(fiber), HRT_OK);
    CHECK(strcmp(order, "cab") == 0);
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
    CHECK_EQUAL(strlen(order), 9);
    CHECK_EQUAL(hrt_fiber_create(&fiber, has_children, number(6), 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_join(fiber, &result), HRT_OK);
    CHECK_EQUAL((long)result, 6);
    for (long mode = 0; mode < 4; mode++) {
        CHECK_EQUAL(hrt_fiber_create(NULL, rounds, number(mode), 0), HRT_OK);
    }
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
    CHECK_EQUAL(__builtin_ia32_stmxcsr() & 0x6000, 0);
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, leaves_fibers, number(1)), HRT_OK);
        CHECK_EQUAL(joined(thread), 1);
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, is_ended, number(2)), HRT_OK);
        CHECK_EQUAL(joined(thread), 2);
    }
}

static hrt_fiber_t *one, *other;

static void *joins_one(void *arg) {
    return number(arg ? hrt_fiber_join(one, NULL) : hrt_fiber_join(other, NULL));
}

static void *joins_self(void *arg) {
    (void)arg;
    return number(hrt_fiber_join(hrt_fiber_self(), NULL));
}

static void *meddles(void *arg) {
    CHECK_EQUAL(hrt_fiber_yield_to(arg), HRT_EPERM);
    CHECK_EQUAL(hrt_fiber_join(arg, NULL), HRT_EPERM);
    hrt_fiber_self();
    CHECK_EQUAL(hrt_fiber_yield_to(arg), HRT_EPERM);
    CHECK_EQUAL(hrt_fiber_join(arg, NULL), HRT_EPERM);
    return NULL;
}

static void *joins_first(void *arg) { return number(hrt_fiber_join(arg, NULL)); }

void fiber_misuse(void) {
    hrt_fiber_t *fiber;
    hrt_thread_t thread;
    void *result;
    CHECK_EQUAL(hrt_fiber_create(&fiber, NULL, NULL, 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_fiber_create(&fiber, takes_turns, NULL, 100), HRT_EINVAL);
    CHECK_EQUAL(hrt_fiber_create(&fiber, takes_turns, NULL, SIZE_MAX), HRT_EINVAL);
    CHECK_EQUAL(hrt_fiber_create(&fiber, takes_turns, NULL, (size_t)1 << 60), HRT_ENOMEM);
    CHECK_EQUAL(hrt_fiber_join(NULL, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_fiber_yield_to(NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_fiber_join(hrt_fiber_self(), NULL), HRT_EDEADLK);

    CHECK_EQUAL(hrt_fiber_create(&fiber, joins_self, NULL, 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_join(fiber, &result), HRT_OK);
    CHECK_EQUAL((long)result, HRT_EDEADLK);
    CHECK_EQUAL(hrt_fiber_join(fiber, NULL), HRT_ESRCH);
    CHECK_EQUAL(hrt_fiber_yield_to(fiber), HRT_ESRCH);
    CHECK_EQUAL(hrt_fiber_create(&fiber, joins_first, hrt_fiber_self(), 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_join(fiber, &result), HRT_OK);
    CHECK_EQUAL((long)result, HRT_EINVAL);

    // Two that join each other: the second is refused, and the first gets its result.
    CHECK_EQUAL(hrt_fiber_create(&one, joins_one, NULL, 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_create(&other, joins_one, number(1), 0), HRT_OK);
    hrt_fiber_yield();
    hrt_fiber_yield();
    CHECK_EQUAL(hrt_fiber_join(one, &result), HRT_OK);
    CHECK_EQUAL((long)result, HRT_OK);

    // A second joiner, and a switch to a fiber that waits.
    CHECK_EQUAL(hrt_fiber_create(&other, takes_turns, NULL, 0), HRT_OK);
    CHECK_EQUAL(hrt_fiber_create(&one, joins_one, NULL, 0), HRT_OK);
    hrt_fiber_yield();
    CHECK_EQUAL(hrt_fiber_join(other, NULL), HRT_EBUSY);
    CHECK_EQUAL(hrt_fiber_yield_to(one), HRT_EBUSY);
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);

    CHECK_EQUAL(hrt_fiber_create(&fiber, takes_turns, NULL, 0), HRT_OK);
    CHECK_EQUAL(hrt_thread_create(&thread, NULL, meddles, fiber), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
}
