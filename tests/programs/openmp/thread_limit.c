// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A thread limit is about all threads of the regions that are nested in one initial task, not about each
// region.

#include "../common/check.h"

#include <omp.h>

enum { LIMIT = 6 };

// Regions in regions in regions; returns how many threads were in them at one time, at most.
static int nested(int outer, int middle, int inner) {
    int now = 0, most = 0;
#pragma omp parallel num_threads(outer)
#pragma omp parallel num_threads(middle)
#pragma omp parallel num_threads(inner)
    {
        int count;
#pragma omp atomic capture
        count = ++now;
#pragma omp critical
        most = count > most ? count : most;
        usleep(2000);
#pragma omp atomic
        now--;
    }
    return most;
}

static int team(int threads) {
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    return count;
}

static void limited(void) {
    CHECK_EQUAL(omp_get_thread_limit(), LIMIT);
    for (int round = 0; round < 5; round++) {
        CHECK_EQUAL(team(3), 3);
        CHECK_EQUAL(team(LIMIT), LIMIT);
        CHECK_EQUAL(team(LIMIT + 5), LIMIT);
        CHECK(nested(5, 5, 2) <= LIMIT);
        CHECK(nested(2, 2, 3) <= LIMIT);
        CHECK(nested(1, 1, 10) <= LIMIT);
        // What they have given back is there for the next one.
        CHECK_EQUAL(team(LIMIT), LIMIT);
    }
}

int main(void) {
    omp_set_dynamic(0);
    omp_set_max_active_levels(4);
#pragma omp teams num_teams(1) thread_limit(LIMIT)
    limited();
    CHECK(omp_get_thread_limit() > LIMIT);
    CHECK_EQUAL(team(8), 8);
    CHECK(nested(2, 2, 2) <= 8);
    printf("thread limit ok\n");
    return 0;
}
