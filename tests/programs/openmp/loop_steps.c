// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Loops from one end of a type to the other in steps of every power of two, and of three times it: each
// iteration runs once, and lastprivate is the last one's.

#include "common/check.h"

#include <limits.h>
#include <omp.h>

enum { MOST = 203 };

static int runs[MOST];

static void count(unsigned long i) {
    CHECK(i < MOST);
#pragma omp atomic
    runs[i]++;
}

static void all_once(unsigned long trips) {
    for (unsigned long i = 0; i < MOST; i++) {
        CHECK_EQUAL(runs[i], i < trips);
    }
    memset(runs, 0, sizeof runs);
}

// The iterations that fit: compilers add a step to the distance before they divide, which has to fit, too.
static unsigned long trips_of(unsigned long step, unsigned long end) {
    unsigned long most = end / step - 1;
    return most < MOST ? most : MOST;
}

#define DO_PRAGMA(...) _Pragma(#__VA_ARGS__)

// Loops up and down with one schedule, unsigned and signed. Compilers know nothing of their bounds.
#define LOOPS(NAME, ...)                                                                                     \
    static void steps_##NAME(unsigned long size) {                                                           \
        volatile unsigned long step = size, trips = trips_of(size, ULONG_MAX),                               \
                               first = ULONG_MAX - trips * step;                                             \
        volatile unsigned long end = ULONG_MAX - step;                                                       \
        unsigned long last = 1;                                                                              \
        DO_PRAGMA(omp parallel for lastprivate(last) __VA_ARGS__)                                            \
        for (unsigned long i = first; i <= end; i += step) {                                                 \
            count((i - first) / step);                                                                       \
            last = i;                                                                                        \
        }                                                                                                    \
        all_once(trips);                                                                                     \
        CHECK_EQUAL(last, end);                                                                              \
        first = trips * step;                                                                                \
        DO_PRAGMA(omp parallel for lastprivate(last) __VA_ARGS__)                                            \
        for (unsigned long i = first; i > 0; i -= step) {                                                    \
            count((first - i) / step);                                                                       \
            last = i;                                                                                        \
        }                                                                                                    \
        all_once(trips);                                                                                     \
        CHECK_EQUAL(last, step);                                                                             \
        if (size > LONG_MAX / 2) {                                                                           \
            return;                                                                                          \
        }                                                                                                    \
        trips = trips_of(size, LONG_MAX);                                                                    \
        volatile long by = (long)size, top = LONG_MAX - by;                                                  \
        volatile long bottom = (long)((unsigned long)LONG_MAX - trips * step);                               \
        long signed_last = 1;                                                                                \
        DO_PRAGMA(omp parallel for lastprivate(signed_last) __VA_ARGS__)                                     \
        for (long i = bottom; i <= top; i += by) {                                                           \
            count(((unsigned long)i - (unsigned long)bottom) / step);                                        \
            signed_last = i;                                                                                 \
        }                                                                                                    \
        all_once(trips);                                                                                     \
        CHECK_EQUAL(signed_last, top);                                                                       \
        bottom = LONG_MIN + by;                                                                              \
        top = (long)((unsigned long)LONG_MIN + trips * step);                                                \
        DO_PRAGMA(omp parallel for lastprivate(signed_last) __VA_ARGS__)                                     \
        for (long i = top; i >= bottom; i -= by) {                                                           \
            count(((unsigned long)top - (unsigned long)i) / step);                                           \
            signed_last = i;                                                                                 \
        }                                                                                                    \
        all_once(trips);                                                                                     \
        CHECK_EQUAL(signed_last, bottom);                                                                    \
    }

LOOPS(static, schedule(static))
LOOPS(static1, schedule(static, 1))
LOOPS(dynamic, schedule(dynamic))
LOOPS(dynamic7, schedule(dynamic, 7))
LOOPS(guided, schedule(guided))
LOOPS(monotonic, schedule(monotonic : dynamic, 2))
LOOPS(runtime, schedule(runtime))

int main(void) {
    for (unsigned long power = 1; power <= ULONG_MAX / 4; power *= 2) {
        for (unsigned long step = power; step <= 3 * power && step <= ULONG_MAX / 2; step += 2 * power) {
            // gcc's own code for static loops multiplies the step by numbers of threads, in the loop's type.
            if (step <= LONG_MAX / 256) {
                steps_static(step);
                steps_static1(step);
            }
            steps_dynamic(step);
            steps_dynamic7(step);
            steps_guided(step);
            steps_monotonic(step);
            steps_runtime(step);
        }
    }
    return 0;
}
