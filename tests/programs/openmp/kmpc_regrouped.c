// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads that have been members of one team serve in another place of the next one, with teams of their own
// inside of it: none is taken for another.

#include "../common/check.h"

#include <omp.h>
#include <pthread.h>
#include <stdint.h>

enum { OUTER = 4, INNER = 2, ROUNDS = 20 };

int32_t __kmpc_global_thread_num(void *);

static int32_t numbers[OUTER][INNER];

static void *use_teams(void *unused) {
    (void)unused;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(OUTER)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(INNER)
        {
            numbers[outer][omp_get_thread_num()] = __kmpc_global_thread_num(0);
#pragma omp barrier
        }
        // Nobody ends before all have begun, so each member has a thread.
#pragma omp barrier
#pragma omp parallel num_threads(1)
        CHECK(__kmpc_global_thread_num(0) == numbers[outer][0]);
    }
    for (int one = 0; one < OUTER * INNER; one++) {
        for (int other = 0; other < one; other++) {
            CHECK(numbers[one / INNER][one % INNER] != numbers[other / INNER][other % INNER]);
        }
    }
    return 0;
}

int main(void) {
    use_teams(0);
    // The threads that the last one has left behind come back in another order.
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, 0, use_teams, 0) == 0);
        CHECK(pthread_join(thread, 0) == 0);
        omp_pause_resource_all(omp_pause_soft);
        use_teams(0);
    }
    return 0;
}
