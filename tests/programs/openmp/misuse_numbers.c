// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Numbers of threads, levels and others that make no sense, or that nobody can have.

#include "../common/check.h"

#include <limits.h>
#include <omp.h>

static int team(void) {
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count++;
    return count;
}
static int team_of(int threads) {
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    return count;
}

static void settings(void) {
    static const int values[] = {-1, 0, INT_MIN};
    // Clang takes what it knows of the value for the answer, if it can.
    int (*volatile max_threads)(void) = omp_get_max_threads;
    for (int index = 0; index < 3; index++) {
        omp_set_num_threads(values[index]);
        CHECK(max_threads() >= 1);
        CHECK(team() >= 1);
    }
    omp_set_num_threads(INT_MAX);
    CHECK(omp_get_max_threads() >= 1);
    omp_set_num_threads(2);
    CHECK_EQUAL(team(), 2);
    int levels = omp_get_max_active_levels();
    omp_set_max_active_levels(-1);
    CHECK_EQUAL(omp_get_max_active_levels(), levels);
    omp_set_max_active_levels(INT_MAX);
    CHECK_EQUAL(omp_get_max_active_levels(), omp_get_supported_active_levels());
    omp_set_max_active_levels(0);
    CHECK_EQUAL(team(), 1);
    omp_set_max_active_levels(levels);
    omp_set_schedule((omp_sched_t)77, 3);
    omp_set_schedule(omp_sched_dynamic, -5);
    omp_sched_t kind;
    int chunk;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL(kind & 7, omp_sched_dynamic);
    long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int index = 0; index < 1000; index++) {
        sum += index;
    }
    CHECK_EQUAL(sum, 499500);
    CHECK_EQUAL(omp_get_ancestor_thread_num(-1), -1);
    CHECK_EQUAL(omp_get_ancestor_thread_num(1), -1);
    CHECK_EQUAL(omp_get_team_size(-1), -1);
    CHECK_EQUAL(omp_get_team_size(INT_MAX), -1);
    omp_set_default_device(-100);
    omp_set_default_device(0);
    CHECK_EQUAL(omp_get_place_num_procs(-1), 0);
    CHECK_EQUAL(omp_get_place_num_procs(INT_MAX), 0);
    omp_get_place_proc_ids(-1, NULL);
}

static void clauses(void) {
    CHECK_EQUAL(team_of(1), 1);
    CHECK_EQUAL(team_of(3), 3);
    int chunk = -3;
    long sum = 0;
#pragma omp parallel for schedule(dynamic, chunk) reduction(+ : sum) num_threads(2)
    for (int index = 0; index < 100; index++) {
        sum += index;
    }
#pragma omp parallel for schedule(guided, chunk) reduction(+ : sum) num_threads(2)
    for (int index = 0; index < 100; index++) {
        sum += index;
    }
    chunk = 0;
#pragma omp parallel for schedule(dynamic, chunk) reduction(+ : sum) num_threads(2)
    for (int index = 0; index < 100; index++) {
        sum += index;
    }
#pragma omp parallel for schedule(guided, chunk) reduction(+ : sum) num_threads(2)
    for (int index = 0; index < 100; index++) {
        sum += index;
    }
    CHECK_EQUAL(sum, 4 * 4950);
    sum = 0;
    // Chunks so large that they overflow what counts iterations. (With a static schedule the compiler
    // counts.)
    chunk = INT_MAX;
#pragma omp parallel for schedule(dynamic, chunk) reduction(+ : sum) num_threads(3)
    for (int index = INT_MAX - 100; index < INT_MAX; index++) {
        sum++;
    }
#pragma omp parallel for schedule(guided, chunk) reduction(+ : sum) num_threads(3)
    for (int index = INT_MAX - 100; index < INT_MAX; index++) {
        sum++;
    }
    CHECK_EQUAL(sum, 200);
}

static void many(void) {
    int got = team_of(500);
    CHECK(got >= 1 && got <= 500);
    // The next ones are as before.
    CHECK_EQUAL(team_of(2), 2);
    CHECK_EQUAL(team_of(4), 4);
    CHECK_EQUAL(team_of(2), 2);
}

static int nest(int depth) {
    int deepest = omp_get_level();
    if (depth == 0) {
        return deepest;
    }
#pragma omp parallel num_threads(2) reduction(max : deepest)
    {
        int below = omp_get_thread_num() == 0 ? nest(depth - 1) : 0;
        deepest = below > deepest ? below : deepest;
    }
    return deepest;
}
static void nested(void) {
    omp_set_max_active_levels(INT_MAX);
    CHECK_EQUAL(nest(300), 300);
    omp_set_max_active_levels(3);
    CHECK_EQUAL(nest(1000), 1000);
}
static void negative(void) {
    CHECK(team_of(-1) >= 1);
    CHECK(team_of(0) >= 1);
    CHECK(team_of(INT_MIN) >= 1);
}

static const struct part parts[] = {
    {"settings", settings}, {"clauses", clauses}, {"many", many}, {"nested", nested}, {"negative", negative}};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof *parts, argc, argv); }
