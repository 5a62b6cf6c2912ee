// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Overheads of loop schedules, per chunk (openmp.h has the method). A loop has so many iterations for each
// thread, and each is a delay. With one thread or with threads that share a CPU the figure is the same as
// with a CPU for each: what a chunk costs the thread that takes it. Most of a guided loop is its beginning
// and end; in path mode, which is exact, the same loop with one static chunk for each thread is subtracted.

#include "openmp.h"

enum { ITERATIONS = 1024, LONG_CHUNK = 8 };

#define SCHEDULE(name, ...)                                                                                  \
    static void name(unsigned executions) {                                                                  \
        _Pragma("omp parallel") for (unsigned j = 0; j < executions; j++) {                                  \
            OPENMP_PRAGMA(omp for schedule(__VA_ARGS__)) for (unsigned i = 0; i < ITERATIONS * openmp_team;  \
                                                              i++) {                                         \
                openmp_delay();                                                                              \
            }                                                                                                \
        }                                                                                                    \
    }
#define OPENMP_PRAGMA(...) _Pragma(#__VA_ARGS__)

SCHEDULE(undivided, static)
SCHEDULE(static1, static, 1)
SCHEDULE(static8, static, LONG_CHUNK)
SCHEDULE(dynamic1, dynamic, 1)
SCHEDULE(dynamic8, dynamic, LONG_CHUNK)
SCHEDULE(guided, guided)
SCHEDULE(guided8, guided, LONG_CHUNK)

static double chunks_of_1(void) { return ITERATIONS; }
static double chunks_of_8(void) { return (double)ITERATIONS / LONG_CHUNK; }

// Chunks of a guided loop for each thread, where a chunk is what is left, divided by the number of threads:
// the standard asks for a size proportional to that. Run-times choose other factors; for a comparison of
// their times the divisor is the same.
static double guided_chunks(unsigned least) {
    unsigned chunks = 0;
    for (unsigned left = ITERATIONS * openmp_team; left > 0; chunks++) {
        unsigned chunk = (left + openmp_team - 1) / openmp_team;
        chunk = chunk < least ? least : chunk;
        left -= chunk < left ? chunk : left;
    }
    return (double)chunks / openmp_team;
}

static double guided_chunks_of_1(void) { return guided_chunks(1); }
static double guided_chunks_of_8(void) { return guided_chunks(LONG_CHUNK); }

#define TEST(title, function, count, other)                                                                  \
    {                                                                                                        \
        .name = (title), .run = (function), .work = OPENMP_BY_EACH, .operations = (count),                   \
        .is_per_thread = true, .path_executions = 16, .delays = ITERATIONS, .without = (other)               \
    }

static const struct openmp_test tests[] = {
    TEST("openmp.static1", static1, chunks_of_1, NULL),
    TEST("openmp.static8", static8, chunks_of_8, NULL),
    TEST("openmp.dynamic1", dynamic1, chunks_of_1, NULL),
    TEST("openmp.dynamic8", dynamic8, chunks_of_8, NULL),
    TEST("openmp.guided", guided, guided_chunks_of_1, undivided),
    TEST("openmp.guided8", guided8, guided_chunks_of_8, undivided),
};

OPENMP_MAIN(tests)
