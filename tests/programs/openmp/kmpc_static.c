// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Static loops of every type, upwards and downwards, at the ends of their types; sections; `last` iterations.

#include "../common/check.h"

#include <limits.h>
#include <omp.h>

#define VISITS 4096
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

#define LOOPS(TYPE, FIRST, COUNT, STEP)                                                                      \
    do {                                                                                                     \
        TYPE first = (FIRST), end = (TYPE)((FIRST) + (TYPE)(COUNT) * (TYPE)(STEP)), step = (STEP);           \
        _Pragma("omp parallel for schedule(static)") for (TYPE i = first; i < end; i += step)                \
            visit((unsigned long long)((i - first) / step));                                                 \
        expect(COUNT);                                                                                       \
        _Pragma("omp parallel for schedule(static, 3)") for (TYPE i = first; i < end; i += step)             \
            visit((unsigned long long)((i - first) / step));                                                 \
        expect(COUNT);                                                                                       \
        _Pragma("omp parallel for schedule(static, 1000000)") for (TYPE i = first; i < end; i += step)       \
            visit((unsigned long long)((i - first) / step));                                                 \
        expect(COUNT);                                                                                       \
        _Pragma("omp parallel for schedule(simd : static, 3)") for (TYPE i = first; i < end; i += step)      \
            visit((unsigned long long)((i - first) / step));                                                 \
        expect(COUNT);                                                                                       \
        _Pragma("omp parallel for schedule(static, 5)") for (TYPE i = end; i > first; i -= step)             \
            visit((unsigned long long)((i - step - first) / step));                                          \
        expect(COUNT);                                                                                       \
    } while (0)

static void types(void) {
    LOOPS(int, -500, 1003, 1);
    LOOPS(int, -2000, 777, 7);
    LOOPS(unsigned, 4000000000u, 1003, 3);
    LOOPS(long long, -5000000000ll, 1003, 5);
    LOOPS(unsigned long long, 0xfffffffffffff000ull, 1003, 2);
    LOOPS(int, 7, 1, 1);
    LOOPS(int, 7, 0, 1);
    LOOPS(int, 0, 2, 1);
    LOOPS(short, -100, 200, 1);
}

// Chunks so large that no member but the first has one, and numbers that no longer fit the type.
static void large(void) {
    long count = 0;
#pragma omp parallel for schedule(static, 0x40000000) reduction(+ : count)
    for (int i = 0; i < 1000; i++) {
        count++;
    }
    CHECK_EQUAL(count, 1000);
    count = 0;
    int chunk = INT_MAX;
#pragma omp parallel for schedule(static, chunk) reduction(+ : count)
    for (int i = 0; i < 1000; i++) {
        count++;
    }
    CHECK_EQUAL(count, 1000);
    long long far_chunk = LLONG_MAX / 2;
    count = 0;
#pragma omp parallel for schedule(static, far_chunk) reduction(+ : count)
    for (long long i = -10; i < 1000; i++) {
        count++;
    }
    CHECK_EQUAL(count, 1010);
}

static void last(void) {
    for (int size = 1; size < 9; size++) {
        for (int count = 1; count < 20; count++) {
            int a = -1, b = -1, c = -1, d = -1;
#pragma omp parallel num_threads(size)
            {
#pragma omp for schedule(static) lastprivate(a)
                for (int i = 0; i < count; i++) {
                    a = i;
                }
#pragma omp for schedule(static, 2) lastprivate(b)
                for (int i = 0; i < count; i++) {
                    b = i;
                }
#pragma omp for schedule(static, 5) lastprivate(c) nowait
                for (int i = count; i > 0; i--) {
                    c = i;
                }
#pragma omp for schedule(simd : static, 4) lastprivate(d)
                for (int i = 0; i < count; i++) {
                    d = i;
                }
            }
            CHECK_EQUAL(a, count - 1);
            CHECK_EQUAL(b, count - 1);
            CHECK_EQUAL(c, 1);
            CHECK_EQUAL(d, count - 1);
        }
    }
}

// Who gets what is promised for equal loops, so that nowait is safe between them.
static void blocks(void) {
    for (int size = 1; size < 8; size++) {
        for (int count = 0; count < 30; count++) {
            int owner[30];
#pragma omp parallel for schedule(static) num_threads(size)
            for (int i = 0; i < count; i++) {
                owner[i] = omp_get_thread_num();
            }
            int each = count / size, larger = count % size, at = 0;
            for (int number = 0; number < size; number++) {
                for (int i = 0; i < each + (number < larger); i++) {
                    CHECK_EQUAL(owner[at++], number);
                }
            }
        }
    }
}

static void sections(void) {
    for (int size = 1; size < 9; size++) {
        int ran[5] = {0}, last = 0;
#pragma omp parallel num_threads(size)
        {
#pragma omp sections lastprivate(last)
            {
                last = ++ran[0];
#pragma omp section
                last = 10 + ++ran[1];
#pragma omp section
                last = 20 + ++ran[2];
#pragma omp section
                last = 30 + ++ran[3];
#pragma omp section
                last = 40 + ++ran[4];
            }
            CHECK_EQUAL(last, 41);
        }
        for (int i = 0; i < 5; i++) {
            CHECK_EQUAL(ran[i], 1);
        }
    }
}

// Without a team around it.
static void orphaned(void) {
    int sum = 0;
#pragma omp for schedule(static)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp for schedule(static, 3) nowait
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp sections
    {
        sum += 5;
#pragma omp section
        sum += 5;
    }
#pragma omp single
    sum += 1;
#pragma omp barrier
    CHECK_EQUAL(sum, 101);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {{"types", types},   {"large", large},       {"last", last},
                                        {"blocks", blocks}, {"sections", sections}, {"orphaned", orphaned}};
    return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv);
}
