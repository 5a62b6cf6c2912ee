// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Who has which internal control variables: tasks and regions get those of the task that generates them as
// they are then, and what one of them changes is its own.

#include "../common/check.h"

#include <omp.h>

// A task keeps what its generator had, and its own changes stay with it.
static void tasks(void) {
    int seen[100], own[100];
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int number = 0; number < 100; number++) {
            omp_set_num_threads(number + 1);
#pragma omp task firstprivate(number) shared(seen, own)
            {
                seen[number] = omp_get_max_threads();
                omp_set_num_threads(1000 + number);
#pragma omp task firstprivate(number) shared(own)
                own[number] = omp_get_max_threads();
#pragma omp taskwait
            }
        }
        CHECK(omp_get_max_threads() == 100);
    }
    for (int number = 0; number < 100; number++) {
        CHECK(seen[number] == number + 1);
        CHECK(own[number] == 1000 + number);
    }
}

// Regions, of one thread and of more, inside of each other.
static void regions(void) {
    omp_set_num_threads(3);
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int mine = 10 + omp_get_thread_num();
        CHECK(omp_get_max_threads() == 3 && omp_get_max_active_levels() == 2);
        omp_set_num_threads(mine);
#pragma omp parallel num_threads(1)
        {
            CHECK(omp_get_max_threads() == mine && omp_get_level() == 2 && omp_get_active_level() == 1);
            omp_set_num_threads(77);
#pragma omp parallel num_threads(2)
            {
                CHECK(omp_get_max_threads() == 77 && omp_get_level() == 3 && omp_get_num_threads() == 2);
                omp_set_num_threads(88);
            }
            CHECK(omp_get_max_threads() == 77);
        }
        CHECK(omp_get_max_threads() == mine);
    }
    CHECK(omp_get_max_threads() == 3);
    // Once more, with teams that have been there: nothing is left of the last time.
#pragma omp parallel num_threads(2)
    {
        CHECK(omp_get_max_threads() == 3);
#pragma omp parallel num_threads(1)
        CHECK(omp_get_max_threads() == 3);
    }
}

// A region inside of one that its thread left by a cancellation has loops and singles as any other.
static void after_cancellation(void) {
    for (int round = 0; round < 20; round++) {
#pragma omp parallel num_threads(1)
        {
            if (omp_get_cancellation() && round % 2 == 0) {
#pragma omp cancel parallel
            }
            int sum = 0;
#pragma omp for schedule(dynamic, 3)
            for (int at = 0; at < 100; at++) {
                sum += at;
            }
#pragma omp single
            sum++;
            CHECK(sum == 4951);
        }
    }
}

// What a thread has in a league of teams holds in regions inside of that, too.
static void league(void) {
    int found[3] = {0};
#pragma omp teams num_teams(3) thread_limit(5)
#pragma omp parallel num_threads(2)
    {
        int number = omp_get_team_num(), teams = omp_get_num_teams();
        CHECK(teams >= 1 && teams <= 3 && number < teams && omp_get_level() == 1);
        CHECK(omp_get_thread_limit() == 5);
#pragma omp parallel num_threads(1)
        CHECK(omp_get_team_num() == number && omp_get_num_teams() == teams && omp_get_level() == 2);
#pragma omp atomic
        found[number]++;
    }
    CHECK(found[0] > 0 && omp_get_num_teams() == 1 && omp_get_team_num() == 0);
}

int main(void) {
    tasks();
    regions();
    after_cancellation();
    league();
    return 0;
}
