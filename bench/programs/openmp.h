/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What constructs of OpenMP cost, by the method of the EPCC microbenchmarks (Bull 1999; Bull and O'Neill
 * 2001; LaGrone et al. 2011): a test executes a construct many times around a delay, and its overhead is what
 * this takes longer than the delays alone.
 *
 *   overhead = (time of the test - time of the delays) / executions
 *
 * What begins and ends the team is inside the measured time, as it is there, shared by all executions. In
 * path mode the delay is an empty call, since instructions of a thread that only computes would hide those
 * of the run-time; threads share one CPU, so what all of them execute is counted, and teams of 1, 2 and 4 are
 * measured: NAME_1, NAME and NAME_4. In parallel mode there is one thread for each CPU, and the number of
 * executions grows until a test takes TEST_NS.
 *
 * Unlike other programs these do not bind their thread to a CPU: the run-times' threads would inherit that.
 */
#ifndef HADAL_BENCH_OPENMP_H
#define HADAL_BENCH_OPENMP_H

#include "bench.h"

#include <omp.h>

#define OPENMP_DELAY_NS 100        /* EPCC's choice */
#define OPENMP_TEST_NS 1000000     /* EPCC's choice */
#define OPENMP_TRIES_NS 50000000   /* a disturbance of the host's is over by then */
#define OPENMP_LIMIT_NS 1500000000 /* where a host core carries several CPUs, a figure may take very long */
#define OPENMP_NAME_BYTES 64

static unsigned openmp_team;         /* threads of the tests */
static unsigned openmp_delay_rounds; /* of openmp_delay() */

/* Not inlined, so that all compilers call it. */
static __attribute__((noinline)) void openmp_delay(void) {
    for (unsigned i = 0; i < openmp_delay_rounds; i++) {
        __asm__ volatile("");
    }
}

/* The same for those that do something with an array, which must then be there. */
static __attribute__((noinline, unused)) void openmp_delay_with(void *array) {
    __asm__ volatile("" : : "r"(array) : "memory");
    openmp_delay();
}

/* Threads of the team that run at the same time. */
static inline unsigned openmp_at_once(void) { return openmp_team < bench.cpus ? openmp_team : bench.cpus; }

/* Whose delays are the reference. */
enum openmp_work {
    OPENMP_BY_EACH, /* every thread delays once in each execution */
    OPENMP_BY_ONE,  /* one after the other: one delay in each execution */
    OPENMP_SHARED,  /* one delay in each execution, and several executions at the same time */
    OPENMP_NONE,
};

struct openmp_test {
    const char *name;
    /* Executes the construct so many times; the number is a multiple of 16. */
    void (*run)(unsigned executions);
    enum openmp_work work;
    /* What the overhead of an execution is divided by; 0 is 1. With OPENMP_BY_EACH per thread. */
    double (*operations)(void);
    /* Whether each thread does the operations, so that threads which share a CPU add up. */
    bool is_per_thread;
    unsigned path_executions;
    unsigned delays; /* of each work; 0 is 1 */
    /* In path mode the reference instead of the delays, unless it is NULL: what the test would be without the
     * operations. */
    void (*without)(unsigned executions);
};

static inline double openmp_delays(const struct openmp_test *test) {
    double delays = test->delays == 0 ? 1 : test->delays;
    switch (test->work) {
    case OPENMP_BY_EACH:
        return delays * openmp_team / openmp_at_once();
    case OPENMP_BY_ONE:
        return delays;
    case OPENMP_SHARED:
        return delays / openmp_at_once();
    default:
        return 0;
    }
}

/* Sets the delay: rounds that take as long as they shall. */
static inline void openmp_set_delay(void) {
    enum { TRIAL = 100000 };
    if (bench_is_path() || openmp_delay_rounds != 0) {
        return;
    }
    openmp_delay_rounds = TRIAL;
    uint64_t start = bench_now_ns();
    openmp_delay();
    double ns = (double)(bench_now_ns() - start) / TRIAL;
    openmp_delay_rounds = (unsigned)(OPENMP_DELAY_NS / ns) + 1;
}

/* Ticks of a delay: the least of several measurements, each of many. */
static inline double openmp_delay_ticks(void) {
    enum { TRIALS = 9, DELAYS = 1000 };
    uint64_t least = UINT64_MAX;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t start = bench_ticks();
        for (int i = 0; i < DELAYS; i++) {
            openmp_delay();
        }
        uint64_t ticks = bench_ticks() - start;
        least = ticks < least ? ticks : least;
    }
    return (double)least / DELAYS;
}

/* Whether the test takes as long as it shall. What disturbs it is not taken for its time: where a host runs
 * both threads on one core for a while, a region takes a thousand times as long, and a test of few executions
 * would measure the region and not the construct. */
static inline bool openmp_is_long(const struct openmp_test *test, unsigned executions) {
    uint64_t begin = bench_now_ns(), start = begin, end;
    do {
        test->run(executions);
        end = bench_now_ns();
        if (end - start < OPENMP_TEST_NS) {
            return false;
        }
        start = end;
    } while (end - begin < OPENMP_TRIES_NS);
    return true;
}

/* How often a test executes its construct. */
static inline unsigned openmp_executions(const struct openmp_test *test) {
    enum { MOST = 1 << 20 };
    if (bench_is_path()) {
        return test->path_executions;
    }
    unsigned executions = 16;
    for (; executions < MOST; executions *= 2) {
        if (openmp_is_long(test, executions)) {
            break;
        }
    }
    return executions;
}

static inline void openmp_measure(const struct openmp_test *test, const char *name, unsigned team) {
    openmp_team = team;
    omp_set_num_threads((int)team);
    openmp_set_delay();
    test->run(16); /* makes the team */
    double delay_ticks = openmp_delay_ticks();
    unsigned executions = openmp_executions(test);
    double operations = (test->operations == NULL ? 1 : test->operations()) * executions;
    if (test->is_per_thread) {
        operations *= (double)team / openmp_at_once();
    }
    double reference = delay_ticks * openmp_delays(test) * executions;
    if (bench_is_path() && test->without != NULL) {
        /* The least: another kernel's timer interrupts some runs. */
        enum { TRIALS = 5 };
        reference = 1e300;
        for (int trial = 0; trial < TRIALS; trial++) {
            uint64_t start = bench_ticks();
            test->without(executions);
            double ticks = (double)(bench_ticks() - start);
            reference = ticks < reference ? ticks : reference;
        }
    }
    bench_warm_up = 1;
    uint64_t end_ns = bench_now_ns() + OPENMP_LIMIT_NS;
    for (unsigned i = 0; i < bench_rounds(bench_choose(9, 40)); i++) {
        uint64_t start = bench_ticks();
        test->run(executions);
        bench_sample_raw((double)(bench_ticks() - start) - reference, operations);
        if (!bench_is_path() && i > 5 && bench_now_ns() > end_ns) {
            break;
        }
    }
    bench_report(name);
}

/* One figure, or in path mode one for each size of team. */
static inline void openmp_measure_all(const struct openmp_test *tests, size_t count, const char *name) {
    const struct openmp_test *test = tests;
    while (test < tests + count && strcmp(test->name, name) != 0) {
        test++;
    }
    if (test == tests + count) {
        bench_fail("%s is not here", name);
    }
    if (!bench_is_path()) {
        openmp_measure(test, name, bench.cpus);
        return;
    }
    static const unsigned others[] = {1, 4};
    openmp_measure(test, name, 2);
    for (unsigned i = 0; i < 2; i++) {
        char other[OPENMP_NAME_BYTES];
        snprintf(other, sizeof other, "%s_%u", name, others[i]);
        openmp_measure(test, other, others[i]);
    }
}

/* A program's figures and its main, from its tests. */
#define OPENMP_MAIN(tests)                                                                                   \
    static void openmp_figure(const char *name) {                                                            \
        openmp_measure_all(tests, sizeof(tests) / sizeof((tests)[0]), name);                                 \
    }                                                                                                        \
    int main(int argc, char **argv) {                                                                        \
        enum { COUNT = sizeof(tests) / sizeof((tests)[0]) };                                                 \
        struct bench_figure figures[COUNT];                                                                  \
        for (int i = 0; i < COUNT; i++) {                                                                    \
            figures[i] = (struct bench_figure){(tests)[i].name, openmp_figure};                              \
        }                                                                                                    \
        return bench_run_figures(argc, argv, figures, COUNT);                                                \
    }

#endif
