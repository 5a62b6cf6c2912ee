// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What the environment sets: the number of threads, binding to places, cancellation, and the clock.

#define _GNU_SOURCE
#include "set.h"

#include <omp.h>
#include <sched.h>

// With OMP_PROC_BIND every thread runs only on the processors of its place.
static void binding(void) {
    omp_proc_bind_t bind = omp_get_proc_bind();
    int places = omp_get_num_places();
    if (bind == omp_proc_bind_false || places == 0 || getenv("OMP_PLACES") == NULL) {
        printf("  no binding asked for\n");
        return;
    }
#pragma omp parallel
    {
        int place = omp_get_place_num();
        CHECK(place >= 0 && place < places);
        int count = omp_get_place_num_procs(place);
        int ids[64];
        CHECK(count > 0 && count <= 64);
        omp_get_place_proc_ids(place, ids);
        cpu_set_t set;
        CHECK_EQUAL(sched_getaffinity(0, sizeof set, &set), 0);
        CHECK_EQUAL(CPU_COUNT(&set), count);
        for (int i = 0; i < count; i++) {
            CHECK(CPU_ISSET((size_t)ids[i], &set));
        }
        for (int i = 0; i < 50; i++) {
            CHECK(CPU_ISSET((size_t)sched_getcpu(), &set));
            sched_yield();
        }
    }
    printf("  bound to %d places\n", places);
}

void part_settings(void) {
    const char *wanted = getenv("OMP_NUM_THREADS");
    if (wanted != NULL) {
        int count = atoi(wanted);
        CHECK_EQUAL(omp_get_max_threads(), count);
        int members = 0;
#pragma omp parallel reduction(+ : members)
        {
            CHECK_EQUAL(omp_get_num_threads(), count);
            members += 1;
        }
        CHECK_EQUAL(members, count);
        // The standard allows no zero; both compilers' own run-times take it for no request.
        volatile int none = 0;
        int others = 0;
#pragma omp parallel num_threads(none) reduction(+ : others)
        others += 1;
        CHECK_EQUAL(others, count);
    }
    CHECK(omp_get_num_procs() >= 1);
    CHECK(!omp_in_parallel());
    CHECK_EQUAL(omp_get_thread_num(), 0);
    CHECK_EQUAL(omp_get_num_threads(), 1);
    binding();

    double before = omp_get_wtime();
    double tick = omp_get_wtick();
    CHECK(tick > 0.0 && tick < 0.1);
    int backwards = 0;
#pragma omp parallel reduction(+ : backwards)
    {
        double last = before;
        for (int i = 0; i < 2000; i++) {
            double now = omp_get_wtime();
            backwards += now < last;
            last = now;
        }
    }
    CHECK_EQUAL(backwards, 0);
    printf("  the team has the size asked for, and time runs forward\n");
}

void part_cancel(void) {
    if (!omp_get_cancellation()) {
        printf("  cancellation is off\n");
        return;
    }
    int after = 0;
    int reached = 0;
#pragma omp parallel
    {
        // Monotonic: the work-stealing dynamic schedule of libomp 14 asserts after a cancellation.
#pragma omp for schedule(monotonic : dynamic, 1)
        for (int i = 0; i < 100000000; i++) {
            if (i == 50) {
#pragma omp atomic
                reached++;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
#pragma omp atomic
        after++;
    }
    CHECK_EQUAL(reached, 1);
    CHECK_EQUAL(after, omp_get_max_threads());

    int found = -1;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup
    for (int i = 0; i < 64; i++) {
#pragma omp task shared(found) firstprivate(i)
        if (i == 20) {
#pragma omp atomic write
            found = i;
#pragma omp cancel taskgroup
        }
    }
    CHECK(found == 20);
    printf("  loops and task groups are cancelled\n");
}
