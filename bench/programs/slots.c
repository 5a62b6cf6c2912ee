// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Creating a thread where none has ended before whose slot, or stack, could be used again. These figures are
// a program of their own: it creates no thread that it does not measure. On Linux: pthread_create.

#include "bench.h"

#include <hadal/hrt.h>

enum { THREADS = 4096, LAST = 64 };

static BENCH_ALIGNED uint32_t over;

/* No thread ends before the last one is there. */
static void *stay(void *arg) {
    while (__atomic_load_n(&over, __ATOMIC_ACQUIRE) == 0) {
        hrt_wait(&over, 0, HRT_FOREVER, 0);
    }
    return arg;
}

static union {
    hrt_thread_t hrt;
    pthread_t posix;
} threads[THREADS];

static int create(size_t index) {
    return bench_on_hadal() ? hrt_thread_create(&threads[index].hrt, NULL, stay, NULL)
                            : pthread_create(&threads[index].posix, NULL, stay, NULL);
}

static int join(size_t index) {
    return bench_on_hadal() ? hrt_thread_join(threads[index].hrt, NULL)
                            : pthread_join(threads[index].posix, NULL);
}

/* What each of them cost, in the order of their creation. */
static uint64_t *create_all(void) {
    static uint64_t ticks[THREADS];
    if (ticks[0] != 0) {
        return ticks;
    }
    for (size_t i = 0; i < THREADS; i++) {
        uint64_t start = bench_ticks();
        int status = create(i);
        ticks[i] = bench_ticks() - start;
        BENCH_CHECK(status);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    hrt_wake(&over, HRT_WAKE_ALL, 0);
    for (size_t i = 0; i < THREADS; i++) {
        BENCH_CHECK(join(i));
    }
    return ticks;
}

static void first(const char *name) {
    bench_warm_up = 0;
    bench_sample(create_all()[0], 1);
    bench_report(name);
}

static void last(const char *name) {
    const uint64_t *ticks = create_all();
    bench_warm_up = 0;
    for (size_t i = THREADS - LAST; i < THREADS; i++) {
        bench_sample(ticks[i], 1);
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"thread.create_first", first}, {"thread.create_4096th", last}};

BENCH_HRT_MAIN(figures)
