// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loops of every schedule, type and direction: each iteration runs once, ordered regions run in order, and
// lastprivate is the last iteration's.

#include "../common/check.h"

#include <limits.h>
#include <omp.h>

enum { N = 203 };

static int runs[N];
static long next_ordered;

static void begin(void) {
    memset(runs, 0, sizeof runs);
    next_ordered = 0;
}

static void all_once(long count) {
    for (long i = 0; i < N; i++) {
        CHECK_EQUAL(runs[i], i < count);
    }
}

static void count(long i) {
    CHECK(i >= 0 && i < N);
#pragma omp atomic
    runs[i]++;
}

static void in_order(long i) {
    CHECK_EQUAL(next_ordered, i);
    next_ordered++;
}

static int threads;

// One loop with a schedule: upwards and downwards, with steps, of several types, with ordered regions.
#define LOOPS(NAME, ...)                                                                                     \
    static void loops_##NAME(void) {                                                                         \
        for (long n = 0; n <= N; n += n < 10 ? 1 : 193) {                                                    \
            long last = -1;                                                                                  \
            begin();                                                                                         \
            _Pragma("omp parallel num_threads(threads)")                                                     \
            DO_PRAGMA(omp for lastprivate(last) __VA_ARGS__)                                                 \
            for (int i = 0; i < n; i++) {                                                                    \
                count(i);                                                                                    \
                last = i;                                                                                    \
            }                                                                                                \
            all_once(n);                                                                                     \
            CHECK(n == 0 || last == n - 1);                                                                  \
            begin();                                                                                         \
            last = -1;                                                                                       \
            DO_PRAGMA(omp parallel for lastprivate(last) num_threads(threads) __VA_ARGS__)                   \
            for (long i = 3 * n; i > 0; i -= 3) {                                                            \
                count(i / 3 - 1);                                                                            \
                last = i;                                                                                    \
            }                                                                                                \
            all_once(n);                                                                                     \
            CHECK(n == 0 || last == 3);                                                                      \
            begin();                                                                                         \
            unsigned long first = ULONG_MAX - 7 * (unsigned long)n, at_last = 1;                             \
            DO_PRAGMA(omp parallel for lastprivate(at_last) num_threads(threads) __VA_ARGS__)                \
            for (unsigned long i = first; i < ULONG_MAX - 3; i += 7) {                                       \
                count((long)((i - first) / 7));                                                              \
                at_last = i;                                                                                 \
            }                                                                                                \
            all_once(n);                                                                                     \
            CHECK(n == 0 || at_last == ULONG_MAX - 7);                                                       \
            begin();                                                                                         \
            DO_PRAGMA(omp parallel for num_threads(threads) __VA_ARGS__)                                     \
            for (unsigned long i = 5 * (unsigned long)n; i >= 5; i -= 5) {                                   \
                count((long)(i / 5 - 1));                                                                    \
            }                                                                                                \
            all_once(n);                                                                                     \
            begin();                                                                                         \
            DO_PRAGMA(omp parallel for ordered num_threads(threads) __VA_ARGS__)                             \
            for (int i = 0; i < n; i++) {                                                                    \
                count(i);                                                                                    \
                if (i % 5 != 3) {                                                                            \
                    _Pragma("omp ordered") in_order(i - (i + 1) / 5);                                        \
                }                                                                                            \
            }                                                                                                \
            all_once(n);                                                                                     \
            begin();                                                                                         \
            DO_PRAGMA(omp parallel for ordered num_threads(threads) __VA_ARGS__)                             \
            for (unsigned long i = (unsigned long)n; i > 0; i--) {                                           \
                count((long)i - 1);                                                                          \
                _Pragma("omp ordered") in_order(n - (long)i);                                                \
            }                                                                                                \
            all_once(n);                                                                                     \
        }                                                                                                    \
    }
#define DO_PRAGMA(...) _Pragma(#__VA_ARGS__)

LOOPS(static, schedule(static))
LOOPS(static1, schedule(static, 1))
LOOPS(static4, schedule(static, 4))
LOOPS(dynamic, schedule(dynamic))
LOOPS(dynamic3, schedule(dynamic, 3))
LOOPS(dynamic_large, schedule(dynamic, 1000))
LOOPS(guided, schedule(guided))
LOOPS(guided6, schedule(guided, 6))
LOOPS(monotonic_dynamic, schedule(monotonic : dynamic))
LOOPS(monotonic_guided, schedule(monotonic : guided, 2))
LOOPS(automatic, schedule(auto))
LOOPS(runtime, schedule(runtime))
LOOPS(monotonic_runtime, schedule(monotonic : runtime))

// Constant bounds: gcc begins the loop together with the region.
static void constant_bounds(void) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 2) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
        sum += i;
    }
#pragma omp parallel for schedule(guided) num_threads(threads) reduction(+ : sum)
    for (int i = 100; i > 0; i -= 2) {
        sum += i;
    }
#pragma omp parallel for schedule(monotonic : dynamic) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp parallel for schedule(monotonic : guided) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp parallel for schedule(runtime) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp parallel for schedule(monotonic : runtime) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
#pragma omp parallel for schedule(nonmonotonic : runtime) num_threads(threads) reduction(+ : sum)
    for (int i = 0; i < 10; i++) {
        sum += i;
    }
    CHECK_EQUAL(sum, 4950 + 2550 + 5 * 45);
}

// Bounds at the ends of their types.
static void extremes(void) {
    long sum = 0;
#pragma omp parallel for schedule(dynamic, 3) num_threads(threads) reduction(+ : sum)
    for (long i = LONG_MIN; i < LONG_MIN + 10; i++) {
        sum += i - LONG_MIN;
    }
    CHECK_EQUAL(sum, 45);
    sum = 0;
#pragma omp parallel for schedule(dynamic, LONG_MAX) num_threads(threads) reduction(+ : sum)
    for (long i = LONG_MAX - 1; i > LONG_MAX - 11; i -= 3) {
        sum += LONG_MAX - i;
    }
    CHECK_EQUAL(sum, 1 + 4 + 7 + 10);
    sum = 0;
    // Not constants: gcc 12 calls the function for signed loops then, and the loop does nothing.
    volatile unsigned long first = 1, end = ULONG_MAX - 5, chunk = 2;
#pragma omp parallel for schedule(dynamic, chunk) num_threads(threads) reduction(+ : sum)
    for (unsigned long i = first; i <= end; i += ULONG_MAX / 4) {
        sum++;
    }
    CHECK_EQUAL(sum, 4);
    sum = 0;
#pragma omp parallel for schedule(guided) num_threads(threads) reduction(+ : sum)
    for (long i = LONG_MIN / 2 + 1; i < LONG_MAX / 3; i += LONG_MAX / 6) {
        sum++;
    }
    CHECK_EQUAL(sum, 5);
}

// A fast member gets many constructs ahead of a slow one.
static void nowait_chain(void) {
    long sum = 0;
    int singles = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        for (int round = 0; round < 100; round++) {
            if (omp_get_thread_num() == round % 3) {
                for (volatile int spin = 0; spin < 1000; spin++) {
                }
            }
#pragma omp for schedule(dynamic) nowait
            for (int i = 0; i < 7; i++) {
                sum += i;
            }
#pragma omp single nowait
            {
#pragma omp atomic
                singles++;
            }
#pragma omp sections nowait
            {
#pragma omp section
                sum += 1;
#pragma omp section
                sum += 2;
#pragma omp section
                sum += 3;
            }
#pragma omp for schedule(guided) ordered nowait
            for (int i = 0; i < 5; i++) {
#pragma omp ordered
                sum += i;
            }
        }
    }
    CHECK_EQUAL(sum, 100 * (21 + 6 + 10));
    CHECK_EQUAL(singles, 100);
}

// Collapsed loops.
static void collapsed(void) {
    begin();
#pragma omp parallel for collapse(3) schedule(dynamic, 2) num_threads(threads)
    for (int i = 0; i < 5; i++) {
        for (long j = 6; j > 0; j -= 2) {
            for (unsigned k = 0; k < 4; k++) {
                count(i * 12 + (j / 2 - 1) * 4 + k);
            }
        }
    }
    all_once(60);
}

// What is at the members' side of orphaned constructs without a region.
static void orphaned(void) {
    begin();
#pragma omp for schedule(dynamic, 2)
    for (int i = 0; i < 9; i++) {
        count(i);
    }
#pragma omp for schedule(static) ordered
    for (int i = 9; i < 20; i++) {
        count(i);
#pragma omp ordered
        in_order(i - 9);
    }
#pragma omp for schedule(runtime) nowait
    for (int i = 20; i < 30; i++) {
        count(i);
    }
#pragma omp barrier
    all_once(30);
}

int main(void) {
    for (threads = 1; threads <= 13; threads += threads < 2 ? 1 : threads < 8 ? 2 : 5) {
        for (int kind = 1; kind <= 4; kind++) {
            omp_set_schedule((omp_sched_t)kind, kind == 2 ? 5 : 0);
            loops_runtime();
            loops_monotonic_runtime();
            constant_bounds();
        }
        loops_static();
        loops_static1();
        loops_static4();
        loops_dynamic();
        loops_dynamic3();
        loops_dynamic_large();
        loops_guided();
        loops_guided6();
        loops_monotonic_dynamic();
        loops_monotonic_guided();
        loops_automatic();
        extremes();
        nowait_chain();
        collapsed();
        orphaned();
    }
    // Inner teams have descriptors of their own.
    threads = 3;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
        long sum = 0;
#pragma omp parallel for num_threads(2) schedule(dynamic) reduction(+ : sum)
        for (int i = 0; i < 50; i++) {
            sum += i;
        }
        CHECK_EQUAL(sum, 1225);
#pragma omp for schedule(dynamic)
        for (int j = 0; j < 9; j++) {
            long inner = 0;
#pragma omp parallel for ordered schedule(guided) num_threads(2) reduction(+ : inner)
            for (int i = 0; i < 20; i++) {
#pragma omp ordered
                inner += i;
            }
            CHECK_EQUAL(inner, 190);
        }
    }
    printf("loops ok\n");
    return 0;
}
