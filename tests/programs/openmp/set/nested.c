// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Nested teams, and variables that belong to a thread.

#include "set.h"

#include <omp.h>

void part_nested(void) {
    omp_set_max_active_levels(3);
    int inner[3][2] = {{0}};
    int deepest = 0;
#pragma omp parallel num_threads(3)
    {
        CHECK_EQUAL(omp_get_level(), 1);
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        {
            CHECK_EQUAL(omp_get_level(), 2);
            CHECK_EQUAL(omp_get_active_level(), 2);
            CHECK_EQUAL(omp_get_num_threads(), 2);
            CHECK_EQUAL(omp_get_ancestor_thread_num(1), outer);
            CHECK_EQUAL(omp_get_team_size(1), 3);
            inner[outer][omp_get_thread_num()]++;
#pragma omp parallel num_threads(2)
            {
                CHECK_EQUAL(omp_get_level(), 3);
#pragma omp atomic
                deepest++;
            }
        }
    }
    for (int outer = 0; outer < 3; outer++) {
        CHECK_EQUAL(inner[outer][0], 1);
        CHECK_EQUAL(inner[outer][1], 1);
    }
    printf("  three levels: %d threads at the deepest\n", deepest);

    // A level that is not active has a team of one.
    omp_set_max_active_levels(1);
    int alone = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(4)
        {
            CHECK_EQUAL(omp_get_num_threads(), 1);
#pragma omp atomic
            alone++;
        }
    }
#pragma omp parallel if (0)
    CHECK_EQUAL(omp_get_num_threads(), 1);
    printf("  serialised inner teams: %d\n", alone);

    // Teams that grow and shrink.
    long members = 0;
    for (int round = 0; round < 40; round++) {
#pragma omp parallel num_threads(1 + round % 6) reduction(+ : members)
        members += 1;
    }
    printf("  members of changing teams: %ld\n", members);
}

static int private_counter = 5;
static double private_array[16];
#pragma omp threadprivate(private_counter, private_array)

void part_threadprivate(void) {
    omp_set_dynamic(0);
    private_counter = 100;
#pragma omp parallel copyin(private_counter)
    {
        CHECK_EQUAL(private_counter, 100);
        private_counter += omp_get_thread_num();
        for (int i = 0; i < 16; i++) {
            private_array[i] = private_counter + i;
        }
    }
    // The values persist from one region to the next for the same team.
    int wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        wrong += private_counter != 100 + omp_get_thread_num();
        for (int i = 0; i < 16; i++) {
            wrong += private_array[i] != (double)(private_counter + i);
        }
    }
    CHECK_EQUAL(wrong, 0);
    static int broadcast;
    broadcast = 0;
#pragma omp parallel
    {
#pragma omp single copyprivate(private_counter)
        private_counter = 777;
        CHECK_EQUAL(private_counter, 777);
#pragma omp atomic
        broadcast++;
    }
    CHECK_EQUAL(broadcast, omp_get_max_threads());
    printf("  copied in, kept and broadcast\n");
}
