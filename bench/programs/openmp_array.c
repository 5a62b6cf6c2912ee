// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What data clauses cost with arrays of several sizes (openmp.h has the method): NAME_N is about N doubles.
// In path mode two threads share a CPU.

#include "openmp.h"

#define ARRAY_PRAGMA(...) _Pragma(#__VA_ARGS__)

// All about one size; EPCC's sizes are powers of three.
#define ARRAYS(N)                                                                                            \
    static double array_##N[N];                                                                              \
    static double own_##N[N];                                                                                \
    ARRAY_PRAGMA(omp threadprivate(own_##N))                                                                 \
    static void private_##N(unsigned executions) {                                                           \
        for (unsigned j = 0; j < executions; j++) {                                                          \
            ARRAY_PRAGMA(omp parallel private(array_##N)) openmp_delay_with(array_##N);                      \
        }                                                                                                    \
    }                                                                                                        \
    static void firstprivate_##N(unsigned executions) {                                                      \
        for (unsigned j = 0; j < executions; j++) {                                                          \
            ARRAY_PRAGMA(omp parallel firstprivate(array_##N)) openmp_delay_with(array_##N);                 \
        }                                                                                                    \
    }                                                                                                        \
    static void copyin_##N(unsigned executions) {                                                            \
        for (unsigned j = 0; j < executions; j++) {                                                          \
            ARRAY_PRAGMA(omp parallel copyin(own_##N)) openmp_delay_with(own_##N);                           \
        }                                                                                                    \
    }                                                                                                        \
    static void copyprivate_##N(unsigned executions) {                                                       \
        ARRAY_PRAGMA(omp parallel private(array_##N))                                                        \
        for (unsigned j = 0; j < executions; j++) {                                                          \
            ARRAY_PRAGMA(omp single copyprivate(array_##N)) openmp_delay_with(array_##N);                    \
        }                                                                                                    \
    }

ARRAYS(1)
ARRAYS(243)
ARRAYS(59049)

enum { SIZES = 3 };
static const unsigned sizes[SIZES] = {1, 243, 59049};

struct clause {
    const char *name;
    void (*run[SIZES])(unsigned executions);
    enum openmp_work work;
};

#define CLAUSE(title, function, whose)                                                                       \
    { .name = (title), .run = {function##_1, function##_243, function##_59049}, .work = (whose) }

static const struct clause clauses[] = {
    CLAUSE("openmp.private", private, OPENMP_BY_EACH),
    CLAUSE("openmp.firstprivate", firstprivate, OPENMP_BY_EACH),
    CLAUSE("openmp.copyin", copyin, OPENMP_BY_EACH),
    CLAUSE("openmp.copyprivate_array", copyprivate, OPENMP_BY_ONE),
};

static void measure(const char *name) {
    for (size_t c = 0; c < sizeof clauses / sizeof clauses[0]; c++) {
        const struct clause *clause = &clauses[c];
        for (int s = 0; strcmp(clause->name, name) == 0 && s < SIZES; s++) {
            char title[OPENMP_NAME_BYTES];
            snprintf(title, sizeof title, "%s_%u", name, sizes[s]);
            struct openmp_test test = {
                .name = title, .run = clause->run[s], .work = clause->work, .path_executions = 16};
            openmp_measure(&test, title, bench_is_path() ? 2 : bench.cpus);
        }
    }
}

int main(int argc, char **argv) {
    enum { COUNT = sizeof clauses / sizeof clauses[0] };
    struct bench_figure figures[COUNT];
    for (int i = 0; i < COUNT; i++) {
        figures[i] = (struct bench_figure){clauses[i].name, measure};
    }
    return bench_run_figures(argc, argv, figures, COUNT);
}
