// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads: making, joining, forking, many at a time, and giving way. On Linux a thread is what pthread_create
// makes; there is no fork of a frame, whose counterpart is to create and join a thread with an empty
// function. Bare threads have no libc part and no counterpart.

#include "bench.h"

#include <hadal/hrt.h>

enum { YIELDS = 64 };

static void *nothing(void *arg) { return arg; }

/* --- the two ways of making threads --------------------------------------------------------------------- */

union thread {
    hrt_thread_t hrt;
    pthread_t posix;
};

struct maker {
    int (*create)(union thread *thread);
    int (*join)(union thread *thread);
};

static int hrt_create(union thread *thread) { return hrt_thread_create(&thread->hrt, NULL, nothing, NULL); }

/* Bare threads must be asked for; the same call with other flags shows what libc's part costs. */
static int create_with_flags(union thread *thread, uint32_t flags) {
    static struct hrt_thread_attr attr;
    if (attr.size == 0) {
        hrt_thread_attr_init(&attr);
    }
    attr.flags = flags;
    return hrt_thread_create(&thread->hrt, &attr, nothing, NULL);
}

static int hrt_create_bare(union thread *thread) { return create_with_flags(thread, HRT_THREAD_BARE); }

static int hrt_create_libc(union thread *thread) { return create_with_flags(thread, 0); }

static int hrt_join(union thread *thread) { return hrt_thread_join(thread->hrt, NULL); }

static int posix_create(union thread *thread) { return pthread_create(&thread->posix, NULL, nothing, NULL); }

static int posix_join(union thread *thread) { return pthread_join(thread->posix, NULL); }

static const struct maker hrt_maker = {hrt_create, hrt_join};
static const struct maker bare_maker = {hrt_create_bare, hrt_join};
static const struct maker posix_maker = {posix_create, posix_join};

static const struct maker *usual_maker(void) { return bench_on_hadal() ? &hrt_maker : &posix_maker; }

/* --- create, create and join ---------------------------------------------------------------------------- */

static void create_with(const struct maker *maker) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 1000)); i++) {
        union thread thread;
        uint64_t start = bench_ticks();
        int status = maker->create(&thread);
        bench_sample(bench_ticks() - start, 1);
        BENCH_CHECK(status);
        BENCH_CHECK(maker->join(&thread));
    }
}

static void create(const char *name) {
    create_with(usual_maker());
    bench_report(name);
}

static void create_bare(const char *name) {
    if (!bench_on_hadal()) {
        bench_skip(name, "threads without a libc part");
        return;
    }
    create_with(&bare_maker);
    bench_report(name);
}

/* What the TLS block adds to creating, joining and all that happens in between: pairs of both kinds in turn.
 */
static void create_tls(const char *name) {
    if (!bench_on_hadal()) {
        bench_skip(name, "threads without a libc part");
        return;
    }
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 1000)); i++) {
        union thread thread;
        uint64_t start = bench_ticks();
        BENCH_CHECK(hrt_create_bare(&thread));
        BENCH_CHECK(hrt_join(&thread));
        uint64_t middle = bench_ticks();
        BENCH_CHECK(hrt_create_libc(&thread));
        BENCH_CHECK(hrt_join(&thread));
        uint64_t end = bench_ticks();
        bench_sample_raw((double)(end - middle) - (double)(middle - start), 1);
    }
    bench_report(name);
}

static void create_join_with(const struct maker *maker) {
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 1000)); i++) {
        union thread thread;
        uint64_t start = bench_ticks();
        BENCH_CHECK(maker->create(&thread));
        BENCH_CHECK(maker->join(&thread));
        bench_sample(bench_ticks() - start, 1);
    }
}

static void create_join(const char *name) {
    create_join_with(usual_maker());
    bench_report(name);
}

static void create_join_bare(const char *name) {
    if (!bench_on_hadal()) {
        bench_skip(name, "threads without a libc part");
        return;
    }
    create_join_with(&bare_maker);
    bench_report(name);
}

/* --- fork ----------------------------------------------------------------------------------------------- */

/* The child's part ends where this returns. */
__attribute__((noinline)) static int fork_child(hrt_thread_t *child) {
    int status = hrt_thread_fork(NULL, child);
    return status == HRT_FORK_CHILD ? 0 : status;
}

static void fork_join(const char *name) {
    if (!bench_on_hadal()) {
        create_join_with(&posix_maker);
        bench_report(name);
        return;
    }
    for (unsigned i = 0; i < bench_rounds(bench_choose(200, 1000)); i++) {
        hrt_thread_t child;
        uint64_t start = bench_ticks();
        BENCH_CHECK(fork_child(&child));
        BENCH_CHECK(hrt_thread_join(child, NULL));
        bench_sample(bench_ticks() - start, 1);
    }
    bench_report(name);
}

/* --- sequences ------------------------------------------------------------------------------------------ */

enum { LONGEST_SEQUENCE = 4096 };

static union thread sequence_threads[LONGEST_SEQUENCE];

/* Creates N threads, then joins them; per thread. */
static void sequence(const char *name) {
    const struct maker *maker = usual_maker();
    for (unsigned length = 2; length <= LONGEST_SEQUENCE; length *= 2) {
        unsigned samples = length >= 512 ? 3 : length >= 32 ? 20 : 100;
        bench_warm_up = length >= 512 ? 1 : 5;
        for (unsigned i = 0; i < samples + (length >= 512 ? 1u : 5u); i++) {
            uint64_t start = bench_ticks();
            for (unsigned n = 0; n < length; n++) {
                BENCH_CHECK(maker->create(&sequence_threads[n]));
            }
            for (unsigned n = 0; n < length; n++) {
                BENCH_CHECK(maker->join(&sequence_threads[n]));
            }
            bench_sample(bench_ticks() - start, length);
        }
        char member[64];
        snprintf(member, sizeof member, "%s_%u", name, length);
        bench_report(member);
    }
}

/* --- yield ---------------------------------------------------------------------------------------------- */

struct partner {
    void (*yield)(void);
    BENCH_ALIGNED uint64_t yields;
    BENCH_ALIGNED uint32_t stop;
};

static void posix_yield(void) { sched_yield(); }

static void yield_in_registers(void) { hrt_thread_yield(); }

static void yield_with_fpu(void) { hrt_thread_yield_full(); }

static void *partner_main(void *arg) {
    struct partner *partner = arg;
    bench_pin(0);
    while (__atomic_load_n(&partner->stop, __ATOMIC_RELAXED) == 0) {
        partner->yields++;
        partner->yield();
    }
    return NULL;
}

/* Two threads on one CPU give way to each other. A switch is counted when it has happened: by both sides'
 * loops. */
static void yield_with(void (*yield)(void)) {
    struct partner partner = {.yield = yield};
    pthread_t thread;
    BENCH_CHECK(pthread_create(&thread, NULL, partner_main, &partner));
    while (*(volatile uint64_t *)&partner.yields == 0) {
        sched_yield();
    }
    for (unsigned i = 0; i < bench_rounds(bench_choose(100, 1000)); i++) {
        uint64_t before = *(volatile uint64_t *)&partner.yields;
        uint64_t start = bench_ticks();
        for (int n = 0; n < YIELDS; n++) {
            yield();
        }
        uint64_t ticks = bench_ticks() - start;
        bench_sample(ticks, (double)(YIELDS + *(volatile uint64_t *)&partner.yields - before));
    }
    __atomic_store_n(&partner.stop, 1, __ATOMIC_RELAXED);
    BENCH_CHECK(pthread_join(thread, NULL));
}

static void yield_figure(const char *name) {
    yield_with(bench_on_hadal() ? yield_in_registers : posix_yield);
    bench_report(name);
}

static void yield_fpu(const char *name) {
    yield_with(bench_on_hadal() ? yield_with_fpu : posix_yield);
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"thread.create", create},
    {"thread.create_bare", create_bare},
    {"thread.create_tls", create_tls},
    {"thread.create_join", create_join},
    {"thread.create_join_bare", create_join_bare},
    {"thread.fork_join", fork_join},
    {"thread.sequence", sequence},
    {"thread.yield", yield_figure},
    {"thread.yield_fpu", yield_fpu},
};

BENCH_HRT_MAIN(figures)
