// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Routines that ask for and change settings: threads, levels, schedules, devices, and whose settings they
// are.

#include "../common/check.h"

#include <errno.h>
#include <limits.h>
#include <omp.h>

// Before the first call of the program.
static int errno_at_start;

static void outside(void) {
    CHECK_EQUAL(errno_at_start, 0);
    CHECK_EQUAL(omp_get_thread_num(), 0);
    CHECK_EQUAL(omp_get_num_threads(), 1);
    CHECK_EQUAL(omp_in_parallel(), 0);
    CHECK_EQUAL(omp_get_level(), 0);
    CHECK_EQUAL(omp_get_active_level(), 0);
    CHECK_EQUAL(omp_get_ancestor_thread_num(0), 0);
    CHECK_EQUAL(omp_get_team_size(0), 1);
    CHECK_EQUAL(omp_get_ancestor_thread_num(-1), -1);
    CHECK_EQUAL(omp_get_ancestor_thread_num(1), -1);
    CHECK_EQUAL(omp_get_team_size(1), -1);
    CHECK_EQUAL(omp_in_final(), 0);
    CHECK(omp_get_num_procs() >= 1);
    CHECK(omp_get_supported_active_levels() > 1);
    CHECK(omp_get_max_active_levels() >= 1);
    CHECK(omp_get_thread_limit() >= 1);
    CHECK_EQUAL(omp_get_num_teams(), 1);
    CHECK_EQUAL(omp_get_team_num(), 0);
}

static void threads(void) {
    omp_set_dynamic(0);
    CHECK_EQUAL(omp_get_dynamic(), 0);
    omp_set_dynamic(7);
    CHECK_EQUAL(omp_get_dynamic(), 1);
    omp_set_dynamic(0);
    omp_set_num_threads(3);
    CHECK_EQUAL(omp_get_max_threads(), 3);
    int team = 0, inner = 0, sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp master
        team = omp_get_num_threads();
        sum += omp_get_thread_num();
        // What a member sets is its own.
        omp_set_num_threads(10 + omp_get_thread_num());
#pragma omp barrier
        if (omp_get_max_threads() != 10 + omp_get_thread_num()) {
#pragma omp atomic
            inner++;
        }
    }
    CHECK_EQUAL(team, 3);
    CHECK_EQUAL(sum, 3);
    CHECK_EQUAL(inner, 0);
    CHECK_EQUAL(omp_get_max_threads(), 3);
    omp_set_num_threads(2);
}

static void levels(void) {
    omp_set_max_active_levels(2);
    CHECK_EQUAL(omp_get_max_active_levels(), 2);
    omp_set_max_active_levels(-5);
    CHECK_EQUAL(omp_get_max_active_levels(), 2);
    int wrong = 0;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2) reduction(+ : wrong)
        {
            int middle = omp_get_thread_num();
            wrong += omp_get_level() != 2 || omp_get_active_level() != 2 || omp_get_num_threads() != 2;
            wrong += omp_get_ancestor_thread_num(0) != 0 || omp_get_ancestor_thread_num(1) != outer;
            wrong += omp_get_ancestor_thread_num(2) != middle || omp_get_ancestor_thread_num(3) != -1;
            wrong += omp_get_team_size(0) != 1 || omp_get_team_size(1) != 2 || omp_get_team_size(2) != 2;
            wrong += omp_get_team_size(3) != -1;
            // The third level is not active any more.
#pragma omp parallel num_threads(2) reduction(+ : wrong)
            {
                wrong += omp_get_num_threads() != 1 || omp_get_thread_num() != 0;
                wrong += omp_get_level() != 3 || omp_get_active_level() != 2 || !omp_in_parallel();
                wrong += omp_get_ancestor_thread_num(1) != outer || omp_get_ancestor_thread_num(2) != middle;
                wrong += omp_get_ancestor_thread_num(3) != 0 || omp_get_team_size(3) != 1;
            }
        }
    }
    CHECK_EQUAL(wrong, 0);
    omp_set_max_active_levels(0);
    int team = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    team = omp_get_num_threads();
    CHECK_EQUAL(team, 1);
    omp_set_max_active_levels(INT_MAX);
    CHECK(omp_get_max_active_levels() >= omp_get_supported_active_levels());
    omp_set_max_active_levels(1);
    // An inactive region is one that nobody else takes part in.
#pragma omp parallel if (0)
    {
        CHECK_EQUAL(omp_get_level(), 1);
        CHECK_EQUAL(omp_get_active_level(), 0);
        CHECK_EQUAL(omp_in_parallel(), 0);
        CHECK_EQUAL(omp_get_team_size(1), 1);
    }
}

static void schedule(void) {
    omp_sched_t kind;
    int chunk;
    const struct {
        omp_sched_t kind;
        int chunk;
    } all[] = {{omp_sched_static, 5}, {omp_sched_dynamic, 3}, {omp_sched_guided, 7}};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        omp_set_schedule(all[at].kind, all[at].chunk);
        omp_get_schedule(&kind, &chunk);
        CHECK_EQUAL(kind, all[at].kind);
        CHECK_EQUAL(chunk, all[at].chunk);
    }
    omp_set_schedule(omp_sched_dynamic, 0);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL(kind, omp_sched_dynamic);
    CHECK_EQUAL(chunk, 1);
    omp_set_schedule((omp_sched_t)((unsigned)omp_sched_guided | 0x80000000u), 2);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL((unsigned)kind & 0x7fffffff, omp_sched_guided);
    CHECK_EQUAL(chunk, 2);
    omp_set_schedule(omp_sched_auto, 4);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL(kind, omp_sched_auto);
    // Each implicit task has its own.
    omp_set_schedule(omp_sched_static, 9);
    int wrong = 0;
#pragma omp parallel num_threads(2) private(kind, chunk) reduction(+ : wrong)
    {
        omp_get_schedule(&kind, &chunk);
        wrong += kind != omp_sched_static || chunk != 9;
#pragma omp barrier
        omp_set_schedule(omp_sched_dynamic, 20 + omp_get_thread_num());
#pragma omp barrier
        omp_get_schedule(&kind, &chunk);
        wrong += kind != omp_sched_dynamic || chunk != 20 + omp_get_thread_num();
    }
    CHECK_EQUAL(wrong, 0);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQUAL(chunk, 9);
    long sum = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        sum += i;
    }
    CHECK_EQUAL(sum, 4950);
}

static void tasks(void) {
    int finals = 0, after = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task final(1) shared(finals)
        {
            finals += omp_in_final();
#pragma omp task shared(finals)
            finals += omp_in_final();
#pragma omp taskwait
        }
#pragma omp task if (0) shared(after)
        after = omp_in_final();
        // A task's settings are a copy, too.
        omp_set_num_threads(5);
        int inner = 0;
#pragma omp task shared(inner)
        {
            inner = omp_get_max_threads();
            omp_set_num_threads(6);
        }
#pragma omp taskwait
        CHECK_EQUAL(inner, 5);
        CHECK_EQUAL(omp_get_max_threads(), 5);
    }
    CHECK_EQUAL(finals, 2);
    CHECK_EQUAL(after, 0);
    CHECK(omp_get_max_task_priority() >= 0);
}

static void clocks(void) {
    double before = omp_get_wtime();
    usleep(2000);
    double passed = omp_get_wtime() - before;
    CHECK(passed >= 0.0015 && passed < 60.0);
    CHECK(omp_get_wtick() > 0.0 && omp_get_wtick() < 0.01);
}

static void teams(void) {
    omp_set_num_teams(3);
    CHECK_EQUAL(omp_get_max_teams(), 3);
    omp_set_teams_thread_limit(4);
    CHECK_EQUAL(omp_get_teams_thread_limit(), 4);
}

int main(int argc, char **argv) {
    errno_at_start = errno;
    static const struct part parts[] = {{"outside", outside},   {"threads", threads}, {"levels", levels},
                                        {"schedule", schedule}, {"tasks", tasks},     {"clocks", clocks},
                                        {"teams", teams}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
