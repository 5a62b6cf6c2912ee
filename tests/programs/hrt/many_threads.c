// SPDX-License-Identifier: Apache-2.0 OR MIT
// As many threads at once as the argument says, bare or with libc, all alive before the first one ends.
#include <hadal/hrt.h>

#include "../common/check.h"

static uint32_t gate;
static uint32_t alive;

// Touches neither libc nor thread-local data: fit for bare threads.
static void *waits(void *arg) {
    __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE)) {
        hrt_wait(&gate, 0, HRT_FOREVER, 0);
    }
    return arg;
}

int main(int argc, char **argv) {
    CHECK(argc == 3);
    long count = strtol(argv[1], NULL, 10);
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.stack_bytes = HRT_STACK_MIN;
    attr.flags = strcmp(argv[2], "bare") == 0 ? HRT_THREAD_BARE : 0;
    hrt_thread_t *threads = calloc((size_t)count, sizeof *threads);
    CHECK(threads != NULL);
    for (int round = 0; round < 2; round++) {
        gate = alive = 0;
        for (long i = 0; i < count; i++) {
            CHECK_EQUAL(hrt_thread_create(&threads[i], &attr, waits, (void *)i), HRT_OK);
        }
        while (__atomic_load_n(&alive, __ATOMIC_RELAXED) != count) {
            hrt_thread_yield();
        }
        CHECK(hrt_thread_list(NULL, 0) >= (uint64_t)count);
        __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
        hrt_wake(&gate, UINT32_MAX, HRT_WAKE_KICK);
        for (long i = 0; i < count; i++) {
            void *result;
            CHECK_EQUAL(hrt_thread_join(threads[i], &result), HRT_OK);
            CHECK_EQUAL((long)result, i);
        }
        printf("%ld threads: ok\n", count);
    }
    return 0;
}
