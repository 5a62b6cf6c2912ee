// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Priorities of tasks, with OMP_MAX_TASK_PRIORITY=5: one thread generates tasks and runs them, while the
// other one is kept busy. The most urgent begin first, whatever order they are generated in.

#include "../common/check.h"

#include <omp.h>
#include <sched.h>

enum { MOST = 5, TASKS = 48, MANY = 5000 };

static int order[MANY], begun;

static void note(int priority) { order[begun++] = priority; }

static void expect_urgent_first(int count) {
    CHECK_EQUAL(begun, count);
    for (int i = 1; i < count; i++) {
        CHECK(order[i - 1] >= order[i]);
    }
    begun = 0;
}

// Runs `generate`, which ends with a taskwait, in a team whose other thread runs no tasks meanwhile.
static void alone(void (*generate)(void)) {
    int done = 0;
#pragma omp parallel num_threads(2) shared(done)
    {
        if (omp_get_thread_num() == 0) {
            generate();
#pragma omp atomic write seq_cst
            done = 1;
        }
        for (int seen = 0; !seen; sched_yield()) {
#pragma omp atomic read seq_cst
            seen = done;
        }
    }
}

static void mixed(void) {
    for (int i = 0; i < TASKS; i++) {
        int priority = i * 5 % 8; // more than the most is the most
#pragma omp task firstprivate(priority) priority(priority)
        note(priority < MOST ? priority : MOST);
    }
#pragma omp taskwait
    expect_urgent_first(TASKS);
}

static void loops(void) {
    for (int i = 0; i < 8; i++) {
#pragma omp task
        note(0);
    }
#pragma omp taskloop priority(3) num_tasks(8) nogroup
    for (int i = 0; i < 8; i++) {
        note(3);
    }
#pragma omp taskwait
    expect_urgent_first(16);
}

static void dependent(void) {
    int first = 0;
#pragma omp task depend(out : first) shared(first) priority(5)
    note(5 + first);
    for (int i = 0; i < 10; i++) {
#pragma omp task depend(in : first) firstprivate(i) priority(i % 3)
        note(i % 3);
    }
#pragma omp taskwait
    expect_urgent_first(11);
}

// A task that waits for its children begins nothing else, be it as urgent as it will.
static void constrained(void) {
    int inside = 0;
#pragma omp task priority(2) shared(inside)
    {
        inside = 1;
        for (int i = 0; i < 4; i++) {
#pragma omp task
            note(9);
        }
#pragma omp task priority(4)
        {
#pragma omp task
            note(9);
#pragma omp taskwait
        }
#pragma omp taskwait
        inside = 0;
    }
    for (int i = 0; i < 4; i++) {
#pragma omp task priority(2) shared(inside)
        {
            CHECK_EQUAL(inside, 0);
            note(2);
        }
    }
#pragma omp taskwait
    expect_urgent_first(9);
}

// More than any queue should hold.
static void many(void) {
    long sum = 0;
#pragma omp parallel num_threads(4)
#pragma omp for
    for (int i = 0; i < MANY; i++) {
#pragma omp task firstprivate(i) shared(sum) priority(i)
        {
#pragma omp atomic
            sum += i;
        }
    }
    CHECK_EQUAL(sum, MANY * (MANY - 1l) / 2);
}

int main(void) {
    CHECK_EQUAL(omp_get_max_task_priority(), MOST);
    for (int round = 0; round < 20; round++) {
        alone(mixed);
        alone(loops);
        alone(dependent);
        alone(constrained);
        many();
    }
    return 0;
}
