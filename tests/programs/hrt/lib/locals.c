// SPDX-License-Identifier: Apache-2.0 OR MIT
// Thread-local data: by key, and `__thread` variables of threads that use each other's memory again.
#include "parts.h"

static int destroyed[3];
static uint32_t key_again;

static void destroy(void *value) { __atomic_fetch_add(&destroyed[(long)value], 1, __ATOMIC_RELAXED); }

// Sets its value again, for ever: after four rounds nobody calls it any more.
static void destroy_again(void *value) { CHECK_EQUAL(hrt_key_set(key_again, value), HRT_OK); }

static uint32_t key_one, key_two;

static void *sets_keys(void *arg) {
    CHECK(hrt_key_get(key_one) == NULL);
    CHECK_EQUAL(hrt_key_set(key_one, number(1)), HRT_OK);
    CHECK_EQUAL(hrt_key_set(key_two, number(2)), HRT_OK);
    CHECK_EQUAL(hrt_key_set(key_again, number(1)), HRT_OK);
    CHECK_EQUAL((long)hrt_key_get(key_one), 1);
    if (arg) {
        hrt_thread_exit(NULL);
    }
    return NULL;
}

void keys(void) {
    hrt_thread_t thread;
    uint32_t none;
    CHECK_EQUAL(hrt_key_create(&key_one, destroy), HRT_OK);
    CHECK_EQUAL(hrt_key_create(&key_two, NULL), HRT_OK);
    CHECK_EQUAL(hrt_key_create(&key_again, destroy_again), HRT_OK);
    for (long i = 0; i < 10; i++) {
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, sets_keys, number(i % 2)), HRT_OK);
        CHECK_EQUAL(hrt_thread_join(thread, NULL), HRT_OK);
    }
    CHECK_EQUAL(destroyed[1], 10);
    CHECK_EQUAL(destroyed[2], 0);
    CHECK(hrt_key_get(key_one) == NULL);
    CHECK_EQUAL(hrt_key_delete(key_one), HRT_OK);
    CHECK_EQUAL(hrt_key_delete(key_one), HRT_EINVAL);
    CHECK_EQUAL(hrt_key_set(key_one, number(1)), HRT_EINVAL);
    CHECK(hrt_key_get(key_one) == NULL);
    CHECK_EQUAL(hrt_key_set(HRT_KEYS_MAX, number(1)), HRT_EINVAL);
    CHECK(hrt_key_get(UINT32_MAX) == NULL);
    CHECK_EQUAL(hrt_key_delete(UINT32_MAX), HRT_EINVAL);
    CHECK_EQUAL(hrt_key_delete(key_two), HRT_OK);
    CHECK_EQUAL(hrt_key_delete(key_again), HRT_OK);

    uint32_t made[HRT_KEYS_MAX], count = 0;
    while (count < HRT_KEYS_MAX && hrt_key_create(&made[count], NULL) == HRT_OK) {
        count++;
    }
    CHECK_EQUAL(count, HRT_KEYS_MAX);
    CHECK_EQUAL(hrt_key_create(&none, NULL), HRT_ENOSPC);
    while (count > 0) {
        CHECK_EQUAL(hrt_key_delete(made[--count]), HRT_OK);
    }
}

static __thread int initial = 42;
static __thread const char *text = "initial";
static __thread char zero[300];
static __thread double also_zero;

static void *spoils(void *arg) {
    CHECK_EQUAL(initial, 42);
    CHECK(strcmp(text, "initial") == 0);
    for (size_t i = 0; i < sizeof zero; i++) {
        CHECK_EQUAL(zero[i], 0);
    }
    CHECK(also_zero == 0);
    CHECK_EQUAL(errno, 0);
    // libc's own data stays: what malloc has cached for the thread is still its.
    void *blocks[8];
    for (size_t i = 0; i < 8; i++) {
        blocks[i] = malloc(64);
        CHECK(blocks[i] != NULL);
    }
    for (size_t i = 0; i < 8; i++) {
        free(blocks[i]);
    }
    initial = 1;
    text = "spoilt";
    memset(zero, 1, sizeof zero);
    also_zero = 2;
    errno = EDOM;
    // Rounding modes of the thread before are gone, too.
    uint32_t mxcsr = __builtin_ia32_stmxcsr();
    CHECK_EQUAL(mxcsr & 0x6000, 0);
    __builtin_ia32_ldmxcsr(mxcsr | 0x6000);
    return arg;
}

void locals(void) {
    hrt_thread_t thread;
    initial = 7;
    for (long i = 0; i < 20; i++) {
        CHECK_EQUAL(hrt_thread_create(&thread, NULL, spoils, number(i)), HRT_OK);
        CHECK_EQUAL(joined(thread), i);
    }
    CHECK_EQUAL(initial, 7);
}
