// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Overheads of loop schedules, per chunk (openmp.h has the method). A loop has so many iterations for each
// thread, and each is a delay. With one thread or with threads that share a CPU the figure is the same as
// with a CPU for each: what a chunk costs the thread that takes it. Where chunks are few, most of such a loop
// is its beginning and end, which have figures of their own (`_loop`: one chunk for each thread); in path
// mode, which is exact, these are subtracted, and the chunks beyond the first of each thread are counted.

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

SCHEDULE(static1, static, 1)
SCHEDULE(static8, static, LONG_CHUNK)
SCHEDULE(dynamic1, dynamic, 1)
SCHEDULE(dynamic8, dynamic, LONG_CHUNK)
SCHEDULE(guided, guided)
SCHEDULE(guided8, guided, LONG_CHUNK)
SCHEDULE(dynamic_loop, dynamic, ITERATIONS)
SCHEDULE(guided_loop, guided, ITERATIONS)

// Chunks of a thread of which the loop's first is not counted if it is subtracted. A loop without others
// counts as one with one, whose figure is then what the schedules differ in.
static double beyond_first(double chunks) {
    if (!bench_is_path()) {
        return chunks;
    }
    return chunks > 1 ? chunks - 1 : 1;
}

static double chunks_of_1(void) { return ITERATIONS; }
static double chunks_of_8(void) { return (double)ITERATIONS / LONG_CHUNK; }
static double further_chunks_of_8(void) { return beyond_first(chunks_of_8()); }

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
    return beyond_first((double)chunks / openmp_team);
}

static double guided_chunks_of_1(void) { return guided_chunks(1); }
static double guided_chunks_of_8(void) { return guided_chunks(LONG_CHUNK); }

#define TEST(title, function, count, other)                                                                  \
    {                                                                                                        \
        .name = (title), .run = (function), .work = OPENMP_BY_EACH, .operations = (count),                   \
        .is_per_thread = true, .path_executions = 64, .delays = ITERATIONS, .without = (other)               \
    }

// Per loop.
#define LOOP(title, function)                                                                                \
    {                                                                                                        \
        .name = (title), .run = (function), .work = OPENMP_BY_EACH, .path_executions = 64,                   \
        .delays = ITERATIONS                                                                                 \
    }

static const struct openmp_test tests[] = {
    TEST("openmp.static1", static1, chunks_of_1, NULL),
    TEST("openmp.static8", static8, chunks_of_8, NULL),
    TEST("openmp.dynamic1", dynamic1, chunks_of_1, NULL),
    TEST("openmp.dynamic8", dynamic8, further_chunks_of_8, dynamic_loop),
    TEST("openmp.guided", guided, guided_chunks_of_1, guided_loop),
    TEST("openmp.guided8", guided8, guided_chunks_of_8, guided_loop),
    LOOP("openmp.dynamic_loop", dynamic_loop),
    LOOP("openmp.guided_loop", guided_loop),
};

OPENMP_MAIN(tests)
