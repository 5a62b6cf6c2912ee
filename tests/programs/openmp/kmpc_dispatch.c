// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loops whose chunks are handed out, of every type and schedule, and ordered loops.

#include "../common/check.h"

#include <omp.h>

#define VISITS 2048
static int visits[VISITS];

static void expect(int count) {
    for (int i = 0; i < VISITS; i++) {
        CHECK_EQUAL(visits[i], i < count);
        visits[i] = 0;
    }
}

static void visit(unsigned long long index) {
    CHECK(index < VISITS);
#pragma omp atomic
    visits[index]++;
}

#define LOOP(TYPE, FIRST, COUNT, STEP, SCHEDULE)                                                             \
    do {                                                                                                     \
        TYPE first = (FIRST), end = (TYPE)((FIRST) + (TYPE)(COUNT) * (TYPE)(STEP)), step = (STEP);           \
        _Pragma(SCHEDULE) for (TYPE i = first; i < end; i += step)                                           \
            visit((unsigned long long)((i - first) / step));                                                 \
        expect(COUNT);                                                                                       \
        _Pragma(SCHEDULE) for (TYPE i = end; i > first; i -= step)                                           \
            visit((unsigned long long)((i - step - first) / step));                                          \
        expect(COUNT);                                                                                       \
    } while (0)

#define LOOPS(SCHEDULE)                                                                                      \
    LOOP(int, -500, 1003, 1, SCHEDULE);                                                                      \
    LOOP(unsigned, 4000000000u, 1003, 3, SCHEDULE);                                                          \
    LOOP(long long, -5000000000ll, 1003, 5, SCHEDULE);                                                       \
    LOOP(unsigned long long, 0xfffffffffffff000ull, 1003, 2, SCHEDULE);                                      \
    LOOP(int, 3, 1, 1, SCHEDULE);                                                                            \
    LOOP(int, 3, 0, 1, SCHEDULE);                                                                            \
    LOOP(signed char, -100, 200, 1, SCHEDULE)

static void schedules(void) {
    LOOPS("omp parallel for schedule(dynamic)");
    LOOPS("omp parallel for schedule(dynamic, 7)");
    LOOPS("omp parallel for schedule(dynamic, 1000000)");
    LOOPS("omp parallel for schedule(monotonic : dynamic, 3)");
    LOOPS("omp parallel for schedule(nonmonotonic : dynamic, 3)");
    LOOPS("omp parallel for schedule(guided)");
    LOOPS("omp parallel for schedule(guided, 9)");
    LOOPS("omp parallel for schedule(auto)");
    LOOPS("omp parallel for schedule(simd : guided, 4)");
    LOOPS("omp parallel for schedule(static) ordered");
    LOOPS("omp parallel for schedule(dynamic, 4) ordered");
    static const omp_sched_t kinds[] = {omp_sched_static, omp_sched_dynamic, omp_sched_guided,
                                        omp_sched_auto};
    for (int kind = 0; kind < 4; kind++) {
        omp_set_schedule(kinds[kind], kind * 3);
        LOOPS("omp parallel for schedule(runtime)");
        LOOPS("omp parallel for schedule(simd : runtime)");
        LOOPS("omp parallel for schedule(runtime) ordered");
    }
}

static void last(void) {
    for (int size = 1; size < 9; size++) {
        for (int count = 1; count < 12; count++) {
            int a = -1, b = -1, c = -1;
#pragma omp parallel num_threads(size)
            {
#pragma omp for schedule(dynamic) lastprivate(a)
                for (int i = 0; i < count; i++) {
                    a = i;
                }
#pragma omp for schedule(guided, 2) lastprivate(b) nowait
                for (int i = 0; i < count; i++) {
                    b = i;
                }
#pragma omp for schedule(static, 2) ordered lastprivate(c)
                for (int i = 0; i < count; i++) {
                    c = i;
                }
            }
            CHECK_EQUAL(a, count - 1);
            CHECK_EQUAL(b, count - 1);
            CHECK_EQUAL(c, count - 1);
        }
    }
}

// Members may be many loops ahead of each other.
static void ahead(void) {
    long sums[40] = {0};
#pragma omp parallel
    for (int loop = 0; loop < 40; loop++) {
#pragma omp for schedule(dynamic, 2) nowait
        for (int i = 0; i < 50; i++) {
#pragma omp atomic
            sums[loop] += i;
        }
    }
    for (int loop = 0; loop < 40; loop++) {
        CHECK_EQUAL(sums[loop], 1225);
    }
}

static int next_turn;

static void turn(int i) {
    CHECK_EQUAL(next_turn, i);
    next_turn = i + 1;
}

static void ordered(void) {
    next_turn = 0;
#pragma omp parallel for ordered
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        turn(i);
    }
    next_turn = 0;
#pragma omp parallel for ordered schedule(static, 3)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        turn(i);
    }
    next_turn = 0;
#pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < 200; i++) {
#pragma omp ordered
        turn(i);
    }
    next_turn = 0;
#pragma omp parallel for ordered schedule(guided, 2)
    for (long i = 0; i < 200; i++) {
#pragma omp ordered
        turn((int)i);
    }
    CHECK_EQUAL(next_turn, 200);
}

// Iterations without an ordered region are not waited for.
static void some_ordered(void) {
    int seen = -1, count = 0;
#pragma omp parallel for ordered schedule(dynamic, 3)
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 1) {
#pragma omp ordered
            {
                CHECK(seen < i);
                seen = i;
                count++;
            }
        }
    }
    CHECK_EQUAL(count, 100);
    CHECK_EQUAL(seen, 298);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"schedules", schedules},
                                        {"last", last},
                                        {"ahead", ahead},
                                        {"ordered", ordered},
                                        {"some ordered", some_ordered}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
