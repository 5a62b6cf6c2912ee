// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Overheads of tasks: to make one and to execute it, per task (openmp.h has the method). Where every thread
// makes tasks, the figure is what a task costs its thread.

#include "openmp.h"

enum { TREE_DEPTH = 3, TREE_TASKS = (2 << TREE_DEPTH) - 2 };

static void spawn(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp task
        openmp_delay();
    }
}

static void spawn_by_master(unsigned executions) {
#pragma omp parallel
#pragma omp master
    for (unsigned j = 0; j < executions; j++) {
#pragma omp task
        openmp_delay();
    }
}

static void spawn_if0(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp task if (0)
        openmp_delay();
    }
}

static void wait(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp task
        openmp_delay();
#pragma omp taskwait
    }
}

static void group(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp taskgroup
        {
#pragma omp task
            openmp_delay();
        }
    }
}

static void taskloop(unsigned executions) {
#pragma omp parallel
#pragma omp master
#pragma omp taskloop grainsize(1)
    for (unsigned j = 0; j < executions; j++) {
        openmp_delay();
    }
}

static void nested(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
#pragma omp task
        {
#pragma omp task
            openmp_delay();
            openmp_delay();
#pragma omp taskwait
        }
    }
}

static void grow(unsigned depth) {
    if (depth == 0) {
        openmp_delay();
        return;
    }
#pragma omp task
    grow(depth - 1);
#pragma omp task
    grow(depth - 1);
#pragma omp taskwait
}

static void tree(unsigned executions) {
#pragma omp parallel
    for (unsigned j = 0; j < executions; j++) {
        grow(TREE_DEPTH);
    }
}

static void depend(unsigned executions) {
#pragma omp parallel
#pragma omp master
    {
        int chain = 0;
        for (unsigned j = 0; j < executions; j++) {
#pragma omp task shared(chain) depend(inout : chain)
            {
                chain++;
                openmp_delay();
            }
        }
#pragma omp taskwait
        if (chain != (int)executions) {
            bench_fail("a chain of %u tasks counted %d", executions, chain);
        }
    }
}

static double two(void) { return 2; }
static double tasks_of_tree(void) { return TREE_TASKS; }

#define BY_EACH .work = OPENMP_BY_EACH, .is_per_thread = true, .path_executions = 512

static const struct openmp_test tests[] = {
    {.name = "openmp.task_spawn", .run = spawn, BY_EACH},
    {.name = "openmp.task_master", .run = spawn_by_master, .work = OPENMP_SHARED, .path_executions = 512},
    {.name = "openmp.task_if0", .run = spawn_if0, BY_EACH},
    {.name = "openmp.taskwait", .run = wait, BY_EACH},
    {.name = "openmp.taskgroup", .run = group, BY_EACH},
    {.name = "openmp.taskloop", .run = taskloop, .work = OPENMP_SHARED, .path_executions = 512},
    {.name = "openmp.task_nested", .run = nested, BY_EACH, .operations = two, .delays = 2},
    {.name = "openmp.task_tree",
     .run = tree,
     BY_EACH,
     .operations = tasks_of_tree,
     .delays = 1 << TREE_DEPTH},
    {.name = "openmp.task_depend", .run = depend, .work = OPENMP_BY_ONE, .path_executions = 512},
};

OPENMP_MAIN(tests)
