// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Explicit tasks: recursion, groups, loops of tasks, undeferred and final tasks, and tasks with dependences.

#include "set.h"

#include <omp.h>
#include <string.h>

static long fibonacci(int n) {
    if (n < 2) {
        return n;
    }
    long left;
    long right;
#pragma omp task shared(left) if (n > 8)
    left = fibonacci(n - 1);
#pragma omp task shared(right) if (n > 8)
    right = fibonacci(n - 2);
#pragma omp taskwait
    return left + right;
}

static void recursion(void) {
    long result = 0;
#pragma omp parallel
#pragma omp single
    result = fibonacci(18);
    printf("  fibonacci: %ld\n", result);
}

static void groups(void) {
    int done = 0;
    int inner = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup
        {
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(done, inner)
                {
#pragma omp task shared(inner)
                    {
#pragma omp taskyield
#pragma omp atomic
                        inner++;
                    }
#pragma omp atomic
                    done++;
                }
            }
        }
        // A group waits for the children of its tasks too.
        CHECK_EQUAL(done, 20);
        CHECK_EQUAL(inner, 20);
    }
    printf("  group: %d and %d\n", done, inner);
}

static void task_loops(void) {
    long sum = 0;
    int marks[300] = {0};
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(16) shared(marks)
        for (int i = 0; i < 300; i++) {
            marks[i]++;
        }
#pragma omp taskloop num_tasks(7) reduction(+ : sum)
        for (int i = 0; i < 300; i++) {
            sum += marks[i] * i;
        }
    }
    printf("  taskloop: %ld\n", sum);
}

static void kinds(void) {
    int undeferred = 0;
    int final = 0;
    int untied = 0;
#pragma omp parallel
#pragma omp single
    {
        int here = omp_get_thread_num();
#pragma omp task if (0) shared(undeferred)
        {
            CHECK_EQUAL(omp_get_thread_num(), here);
            undeferred = 1;
        }
        CHECK_EQUAL(undeferred, 1);
#pragma omp task final(1) shared(final)
        {
            CHECK(omp_in_final());
#pragma omp task shared(final)
            final = 1;
            CHECK_EQUAL(final, 1);
        }
#pragma omp task untied shared(untied) priority(3)
        untied = 1;
#pragma omp taskwait
    }
    printf("  undeferred %d, final %d, untied %d\n", undeferred, final, untied);
}

// Variables of a task are copied when it is made, whatever their size, and nothing beside them is.
#define COPY(size)                                                                                           \
    do {                                                                                                     \
        struct {                                                                                             \
            unsigned char bytes[size];                                                                       \
        } own;                                                                                               \
        memset(own.bytes, 0, size);                                                                          \
        _Pragma("omp parallel num_threads(2)") _Pragma("omp single") {                                       \
            for (int i = 0; i < 8; i++) {                                                                    \
                for (int at = 0; at < size; at++) {                                                          \
                    own.bytes[at] = (unsigned char)(size + 40 * i + at);                                     \
                }                                                                                            \
                _Pragma("omp task firstprivate(own, i)") for (int at = 0; at < size; at++) {                 \
                    CHECK_EQUAL(own.bytes[at], (unsigned char)(size + 40 * i + at));                         \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

static void copies(void) {
    COPY(1);
    COPY(3);
    COPY(4);
    COPY(5);
    COPY(8);
    COPY(11);
    COPY(12);
    COPY(13);
    COPY(20);
    COPY(27);
    COPY(28);
    COPY(29);
    COPY(32);
    COPY(100);
}

void part_tasks(void) {
    recursion();
    groups();
    task_loops();
    kinds();
    copies();
}

// A wavefront: each cell needs the one above and the one to the left.
static void wavefront(void) {
    enum { SIDE = 12 };
    static long cells[SIDE][SIDE];
    for (int i = 0; i < SIDE; i++) {
        cells[0][i] = 1;
        cells[i][0] = 1;
    }
#pragma omp parallel
#pragma omp single
    for (int row = 1; row < SIDE; row++) {
        for (int column = 1; column < SIDE; column++) {
#pragma omp task depend(in : cells[row - 1][column], cells[row][column - 1]) depend(out : cells[row][column])
            cells[row][column] = cells[row - 1][column] + cells[row][column - 1];
        }
    }
    printf("  wavefront: %ld\n", cells[SIDE - 1][SIDE - 1]);
}

static void chain(void) {
    long value = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= 60; i++) {
#pragma omp task depend(inout : value) firstprivate(i) shared(value)
        value = (value * 17 + i) % 10007;
    }
    printf("  chain: %ld\n", value);
}

// Many readers between two writers, and tasks that exclude each other in any order.
static void readers_and_exclusion(void) {
    int data = 0;
    int readers = 0;
    int exclusive = 0;
    int inside = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int round = 1; round <= 5; round++) {
#pragma omp task depend(out : data) shared(data) firstprivate(round)
            data = round;
            for (int reader = 0; reader < 6; reader++) {
#pragma omp task depend(in : data) shared(data, readers) firstprivate(round)
                {
                    CHECK_EQUAL(data, round);
#pragma omp atomic
                    readers++;
                }
            }
        }
        for (int i = 0; i < 24; i++) {
#pragma omp task depend(mutexinoutset : exclusive) shared(exclusive, inside)
            {
                CHECK_EQUAL(inside, 0);
                inside = 1;
                exclusive++;
                inside = 0;
            }
        }
#pragma omp taskwait depend(in : data)
        CHECK_EQUAL(data, 5);
    }
    printf("  readers %d, exclusive %d\n", readers, exclusive);
}

void part_depend(void) {
    wavefront();
    chain();
    readers_and_exclusion();
}
