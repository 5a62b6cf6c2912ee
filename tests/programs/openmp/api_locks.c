// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Locks of the program: exclusion with more threads than processors, tests, nesting, tasks as owners.

#include "../common/check.h"

#include <omp.h>

enum { THREADS = 4, TURNS = 5000 };

static void simple(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    CHECK_EQUAL(omp_test_lock(&lock), 1);
    CHECK_EQUAL(omp_test_lock(&lock), 0);
    omp_unset_lock(&lock);
    long count = 0, each[THREADS] = {0};
#pragma omp parallel num_threads(THREADS)
    for (int turn = 0; turn < TURNS; turn++) {
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
        each[omp_get_thread_num()]++;
    }
    CHECK_EQUAL(count, (long)THREADS * TURNS);
    for (int thread = 0; thread < THREADS; thread++) {
        CHECK_EQUAL(each[thread], TURNS);
    }
    omp_destroy_lock(&lock);
}

static void test(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    long count = 0, in_vain = 0;
#pragma omp parallel num_threads(THREADS) reduction(+ : in_vain)
    for (int turn = 0; turn < TURNS; turn++) {
        if (omp_test_lock(&lock)) {
            count++;
            omp_unset_lock(&lock);
        } else {
            in_vain++;
        }
    }
    CHECK_EQUAL(count + in_vain, (long)THREADS * TURNS);
    omp_destroy_lock(&lock);
}

// A member holds the lock for long; the others wait, and each of them gets it.
static void wait(void) {
    omp_lock_t lock;
    omp_init_lock(&lock);
    int order = 0;
    omp_set_lock(&lock);
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp master
        {
            usleep(20000);
            omp_unset_lock(&lock);
        }
        for (int turn = 0; turn < 3; turn++) {
            omp_set_lock(&lock);
            usleep(500);
            order++;
            omp_unset_lock(&lock);
        }
    }
    CHECK_EQUAL(order, 3 * THREADS);
    omp_destroy_lock(&lock);
}

// Locks are as small as they are: their neighbours stay as they were.
static void neighbours(void) {
    struct {
        unsigned before;
        omp_lock_t simple;
        unsigned between;
        omp_nest_lock_t nestable;
        unsigned behind;
    } all = {.before = 0x1234, .between = 0x5678, .behind = 0x9abc};
    omp_init_lock(&all.simple);
    omp_init_nest_lock(&all.nestable);
    omp_set_lock(&all.simple);
    omp_set_nest_lock(&all.nestable);
    omp_unset_nest_lock(&all.nestable);
    omp_unset_lock(&all.simple);
    omp_destroy_nest_lock(&all.nestable);
    omp_destroy_lock(&all.simple);
    CHECK(all.before == 0x1234 && all.between == 0x5678 && all.behind == 0x9abc);
}

static void nestable(void) {
    omp_nest_lock_t lock;
    omp_init_nest_lock(&lock);
    long count = 0;
#pragma omp parallel num_threads(THREADS)
    for (int turn = 0; turn < TURNS; turn++) {
        omp_set_nest_lock(&lock);
        int again = omp_test_nest_lock(&lock);
        if (again != 2) {
            check_failed(__FILE__, __LINE__, "again == 2", "");
        }
        omp_set_nest_lock(&lock);
        count++;
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
        omp_unset_nest_lock(&lock);
    }
    CHECK_EQUAL(count, (long)THREADS * TURNS);
    CHECK_EQUAL(omp_test_nest_lock(&lock), 1);
    int other = -1;
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
        other = omp_test_nest_lock(&lock);
    }
    CHECK_EQUAL(other, 0);
    omp_unset_nest_lock(&lock);
    omp_destroy_nest_lock(&lock);
}

// Tasks take turns, whoever runs them.
static void tasks(void) {
    omp_lock_t lock;
    omp_nest_lock_t nest;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    long count = 0;
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    for (int task = 0; task < 200; task++) {
#pragma omp task
        {
            omp_set_lock(&lock);
            omp_set_nest_lock(&nest);
            omp_set_nest_lock(&nest);
            count++;
            omp_unset_nest_lock(&nest);
            omp_unset_nest_lock(&nest);
            omp_unset_lock(&lock);
        }
    }
    CHECK_EQUAL(count, 200);
    omp_destroy_nest_lock(&nest);
    omp_destroy_lock(&lock);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"simple", simple},         {"test", test},         {"wait", wait},
                                        {"neighbours", neighbours}, {"nestable", nestable}, {"tasks", tasks}};
    return run_parts(parts, sizeof parts / sizeof *parts, argc, argv);
}
