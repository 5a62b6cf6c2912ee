// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Overheads of regions, loops and synchronisation (openmp.h has the method).

#include "openmp.h"

static void parallel(unsigned executions) {
    for (unsigned j = 0; j < executions; j++) {
#pragma omp parallel
        openmp_delay();
    }
}

static void loop(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp for
        for (unsigned i = 0; i < openmp_team; i++) {
            openmp_delay();
        }
    }
}

static void parallel_loop(unsigned executions) {
    for (unsigned j = 0; j < executions; j++) {
#pragma omp parallel for
        for (unsigned i = 0; i < openmp_team; i++) {
            openmp_delay();
        }
    }
}

static void barrier(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
        openmp_delay();
#pragma omp barrier
    }
}

static void single(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp single
        openmp_delay();
    }
}

static void copyprivate(unsigned executions) {
    int word = 0;
#pragma omp parallel firstprivate(word)
    for (unsigned j = 0; j < executions; j++) {
#pragma omp single copyprivate(word)
        {
            word++;
            openmp_delay();
        }
    }
}

static void master(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp master
        openmp_delay();
    }
}

// The following are turns: together the threads take as many as there are executions.

static void critical(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions / openmp_team; j++) {
#pragma omp critical
        openmp_delay();
    }
}

static void lock(unsigned executions) {
    omp_lock_t shared;
    omp_init_lock(&shared);
#pragma omp parallel
    for (unsigned j = 0; j < executions / openmp_team; j++) {
        omp_set_lock(&shared);
        openmp_delay();
        omp_unset_lock(&shared);
    }
    omp_destroy_lock(&shared);
}

static void atomic(unsigned executions) {
    static BENCH_ALIGNED double sum;
    sum = 0;
#pragma omp parallel
    for (unsigned j = 0; j < executions / openmp_team; j++) {
#pragma omp atomic
        sum += 1;
    }
    if (sum != (double)(executions / openmp_team) * openmp_team) {
        bench_fail("atomic additions were lost");
    }
}

static void ordered(unsigned executions) {
#pragma omp parallel for ordered schedule(static, 1)
    for (unsigned j = 0; j < executions; j++) {
#pragma omp ordered
        openmp_delay();
    }
}

// A lock for each thread.
static void lock_free(unsigned executions) {
#pragma omp parallel
    {
        BENCH_ALIGNED omp_lock_t own;
        omp_init_lock(&own);
        for (unsigned j = 0; j < executions; j++) {
            omp_set_lock(&own);
            openmp_delay();
            omp_unset_lock(&own);
        }
        omp_destroy_lock(&own);
    }
}

static void reduction(unsigned executions) {
    int sum = 0;
    for (unsigned j = 0; j < executions; j++) {
#pragma omp parallel reduction(+ : sum)
        {
            openmp_delay();
            sum += 1;
        }
    }
    if (sum != (int)(executions * openmp_team)) {
        bench_fail("a reduction gave %d, not %u", sum, executions * openmp_team);
    }
}

static const struct openmp_test tests[] = {
    {.name = "openmp.parallel", .run = parallel, .work = OPENMP_BY_EACH, .path_executions = 256},
    {.name = "openmp.for", .run = loop, .work = OPENMP_BY_EACH, .path_executions = 512},
    {.name = "openmp.parallel_for", .run = parallel_loop, .work = OPENMP_BY_EACH, .path_executions = 256},
    {.name = "openmp.barrier", .run = barrier, .work = OPENMP_BY_EACH, .path_executions = 512},
    {.name = "openmp.single", .run = single, .work = OPENMP_BY_ONE, .path_executions = 512},
    {.name = "openmp.copyprivate", .run = copyprivate, .work = OPENMP_BY_ONE, .path_executions = 512},
    {.name = "openmp.critical", .run = critical, .work = OPENMP_BY_ONE, .path_executions = 2048},
    {.name = "openmp.lock", .run = lock, .work = OPENMP_BY_ONE, .path_executions = 2048},
    {.name = "openmp.lock_free",
     .run = lock_free,
     .work = OPENMP_BY_EACH,
     .is_per_thread = true,
     .path_executions = 2048},
    {.name = "openmp.ordered", .run = ordered, .work = OPENMP_BY_ONE, .path_executions = 512},
    {.name = "openmp.atomic", .run = atomic, .work = OPENMP_NONE, .path_executions = 2048},
    {.name = "openmp.reduction", .run = reduction, .work = OPENMP_BY_EACH, .path_executions = 256},
    {.name = "openmp.masked", .run = master, .work = OPENMP_BY_ONE, .path_executions = 2048},
};

OPENMP_MAIN(tests)
