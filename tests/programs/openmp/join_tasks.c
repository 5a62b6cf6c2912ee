// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Tasks that are generated when the other members of the team are at the end of the region already: they run
// them. What one of them generates, too; and no task of a region runs in the next one.

#include "../common/check.h"

#include <omp.h>
#include <time.h>

static int region_now;

static void wait_for(int *flag) {
    for (int value = 0; value == 0;) {
        struct timespec moment = {0, 50000};
        nanosleep(&moment, NULL);
#pragma omp atomic read acquire
        value = *flag;
    }
}

static void set(int *flag) {
#pragma omp atomic write release
    *flag = 1;
}

// The primary member waits without a scheduling point, so another one has to run the task.
static void others_run(int team) {
    int is_over = 0, runner = -1;
#pragma omp parallel num_threads(team) shared(is_over, runner)
#pragma omp master
    {
#pragma omp task shared(is_over, runner)
        {
            runner = omp_get_thread_num();
            set(&is_over);
        }
        if (omp_get_num_threads() > 1) {
            wait_for(&is_over);
            CHECK(runner > 0);
        }
    }
    CHECK_EQUAL(is_over, 1);
}

static void generate(int depth, int region, int *count) {
#pragma omp atomic
    ++*count;
    CHECK_EQUAL(region, region_now);
    for (int child = 0; child < 2 && depth > 0; child++) {
#pragma omp task firstprivate(depth, region, count)
        generate(depth - 1, region, count);
    }
}

static void tree(int team) {
    int count = 0;
    region_now++;
#pragma omp parallel num_threads(team) shared(count)
#pragma omp single nowait
    generate(7, region_now, &count);
    CHECK_EQUAL(count, 255);
}

// All members generate some, each for the others to finish, and teams of other sizes follow.
static void all_generate(int team) {
    int count = 0;
    region_now++;
#pragma omp parallel num_threads(team) shared(count)
    for (int task = 0; task < 10; task++) {
#pragma omp task shared(count)
        generate(1, region_now, &count);
    }
    CHECK_EQUAL(count, 30 * team);
}

static void nothing(int team) {
    int members = 0;
#pragma omp parallel num_threads(team) reduction(+ : members)
    members++;
    CHECK_EQUAL(members, team);
}

int main(void) {
    int most = omp_get_max_threads();
    omp_set_dynamic(0);
    for (int round = 0; round < 60; round++) {
        int team = 1 + (round * 5) % (most + 2);
        others_run(most);
        tree(team);
        all_generate(most);
        nothing(team);
        tree(most);
        all_generate(team);
    }
    printf("tasks at the end of regions\n");
    return 0;
}
