// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Passes over arrays that no cache holds, as in McCalpin's STREAM: what memory gives. The time is that of one
// pass; the values are checked.

#include "bench.h"

enum { LENGTH = 1 << 22, PASSES = 10 };

static double a[LENGTH], b[LENGTH], c[LENGTH];
static const double factor = 3;

static void copy(void) {
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++) {
        c[i] = a[i];
    }
}

static void sum(void) {
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++) {
        c[i] = a[i] + b[i];
    }
}

static void triad(void) {
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++) {
        c[i] = a[i] + factor * b[i];
    }
}

// Also puts each page where the thread is that works with it.
static void set(void) {
#pragma omp parallel for
    for (int i = 0; i < LENGTH; i++) {
        a[i] = i;
        b[i] = 2;
        c[i] = 0;
    }
}

static void check(double part_of_a, double part_of_b) {
    for (int i = 0; i < LENGTH; i++) {
        if (c[i] != part_of_a * i + part_of_b * 2) {
            bench_fail("element %d is %g", i, c[i]);
        }
    }
}

static void measure(const char *name, void (*pass)(void), double part_of_b) {
    set();
    bench_warm_up = 1;
    for (unsigned i = 0; i < bench_rounds(PASSES); i++) {
        uint64_t start = bench_ticks();
        pass();
        bench_sample(bench_ticks() - start, 1);
    }
    check(1, part_of_b);
    bench_report(name);
}

static void copy_figure(const char *name) { measure(name, copy, 0); }
static void add_figure(const char *name) { measure(name, sum, 1); }
static void triad_figure(const char *name) { measure(name, triad, factor); }

static const struct bench_figure figures[] = {
    {"stream.copy", copy_figure}, {"stream.add", add_figure}, {"stream.triad", triad_figure}};

int main(int argc, char **argv) {
    return bench_run_figures(argc, argv, figures, sizeof figures / sizeof figures[0]);
}
