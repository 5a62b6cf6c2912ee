// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What an operation costs as CPUs are added, in instructions of all CPUs together: with one thread on each
// CPU, all at the same thing. The machine's CPUs take turns in one thread of QEMU's, and its clock counts
// what all of them execute, so the host's cores do not matter. A turn ends where its CPU executes PAUSE or
// HLT. So waiting is counted as it is: a CPU that spins adds an iteration for each turn of the others, one
// that sleeps adds nothing. The same source in every place.

#include "bench.h"

#include <sys/mman.h>

enum { WARM_UP = 3, SAMPLES = 11, PAGE_BYTES = 4096 };

/* Operations of each member between two readings. */
enum { OPERATIONS = 10 };

static pthread_barrier_t meeting;

/* --- operations ----------------------------------------------------------------------------------------- */

static BENCH_ALIGNED pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static BENCH_ALIGNED uint64_t counter;

static void count_atomically(void) { __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); }

/* The holder gives up its turn, so that all others come while the mutex is held. */
static void count_locked(void) {
    BENCH_CHECK(pthread_mutex_lock(&mutex));
    bench_pause();
    counter++;
    BENCH_CHECK(pthread_mutex_unlock(&mutex));
}

static void meet(void) { pthread_barrier_wait(&meeting); }

static void use_malloc(void) {
    enum { BLOCKS = 16, STEP_BYTES = 48 };
    void *blocks[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc((i + 1) * STEP_BYTES);
        *(volatile char *)blocks[i] = 1;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        free(blocks[i]);
    }
}

static void use_mmap(void) {
    enum { PAGES = 16 };
    size_t bytes = (size_t)PAGES * PAGE_BYTES;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        bench_fail("mmap: %s", strerror(errno));
    }
    for (int page = 0; page < PAGES; page++) {
        ((volatile char *)memory)[(size_t)page * PAGE_BYTES] = 1;
    }
    BENCH_EXPECT(munmap(memory, bytes), 0);
}

static void *nothing(void *arg) { return arg; }

/* The thread inherits its maker's CPU. */
static void use_thread(void) {
    pthread_t thread;
    BENCH_CHECK(pthread_create(&thread, NULL, nothing, NULL));
    BENCH_CHECK(pthread_join(thread, NULL));
}

/* --- all at once ---------------------------------------------------------------------------------------- */

struct crowd {
    void (*operation)(void);
    BENCH_ALIGNED uint32_t begun; /* round that has begun */
    BENCH_ALIGNED uint32_t ended; /* members that have ended theirs, of all rounds */
};

static void spin_until(const uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value) {
        bench_pause();
    }
}

/* Members spin between rounds, so that no CPU must be woken; the last iterations of that are counted. */
static void take_part(unsigned member, void *arg) {
    struct crowd *crowd = arg;
    for (uint32_t round = 1; round <= WARM_UP + SAMPLES; round++) {
        uint64_t start = bench_ticks();
        if (member == 0) {
            __atomic_store_n(&crowd->begun, round, __ATOMIC_RELEASE);
        }
        spin_until(&crowd->begun, round);
        for (int i = 0; i < OPERATIONS; i++) {
            crowd->operation();
        }
        __atomic_fetch_add(&crowd->ended, 1, __ATOMIC_ACQ_REL);
        if (member == 0) {
            spin_until(&crowd->ended, round * bench.cpus);
            bench_sample(bench_ticks() - start, (double)OPERATIONS * bench.cpus);
        }
    }
    /* No thread ends before the last sample is taken. */
    if (member == 0) {
        __atomic_store_n(&crowd->begun, WARM_UP + SAMPLES + 1, __ATOMIC_RELEASE);
    }
    spin_until(&crowd->begun, WARM_UP + SAMPLES + 1);
}

static void scale(const char *name, void (*operation)(void)) {
    struct crowd crowd = {.operation = operation};
    bench_warm_up = WARM_UP;
    BENCH_CHECK(pthread_barrier_init(&meeting, NULL, bench.cpus));
    bench_run_team(bench.cpus, take_part, &crowd);
    BENCH_CHECK(pthread_barrier_destroy(&meeting));
    bench_report(name);
}

static void atomic_add(const char *name) { scale(name, count_atomically); }
static void mutex_figure(const char *name) { scale(name, count_locked); }
static void barrier(const char *name) { scale(name, meet); }
static void malloc_figure(const char *name) { scale(name, use_malloc); }
static void mmap_figure(const char *name) { scale(name, use_mmap); }
static void create_join(const char *name) { scale(name, use_thread); }

static const struct bench_figure figures[] = {
    {"scaling.atomic_add", atomic_add}, {"scaling.mutex", mutex_figure}, {"scaling.barrier", barrier},
    {"scaling.malloc", malloc_figure},  {"scaling.mmap", mmap_figure},   {"scaling.create_join", create_join},
};

BENCH_MAIN(figures)
