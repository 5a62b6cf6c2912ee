// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Conjugate gradients as in the mini-application HPCCG: the matrix of a 27-point stencil on a box, as general
// sparse rows in memory. Its diagonal is 27 and all other entries are -1, and the right side is chosen so
// that the solution is 1 everywhere, which is checked. Timed: the iterations.

#include "bench.h"

#include <math.h>

enum { EDGE = 32, ROWS = EDGE * EDGE * EDGE, ROW_ENTRIES = 27, ITERATIONS = 60, RUNS = 3 };

static const double tolerance = 1e-6;

static double values[ROWS][ROW_ENTRIES];
static int columns[ROWS][ROW_ENTRIES];
static int entries[ROWS];
static double x[ROWS], b[ROWS], r[ROWS], p[ROWS], ap[ROWS];

static bool is_inside(int i) { return i >= 0 && i < EDGE; }

static void add_entry(int row, int column, double value) {
    values[row][entries[row]] = value;
    columns[row][entries[row]] = column;
    entries[row]++;
    b[row] += value;
}

static void make_row(int i, int j, int k) {
    int row = (i * EDGE + j) * EDGE + k;
    entries[row] = 0;
    b[row] = 0;
    for (int neighbour = 0; neighbour < ROW_ENTRIES; neighbour++) {
        int ni = i + neighbour / 9 - 1, nj = j + neighbour / 3 % 3 - 1, nk = k + neighbour % 3 - 1;
        if (is_inside(ni) && is_inside(nj) && is_inside(nk)) {
            int column = (ni * EDGE + nj) * EDGE + nk;
            add_entry(row, column, column == row ? ROW_ENTRIES : -1.0);
        }
    }
}

static void make_matrix(void) {
#pragma omp parallel for
    for (int i = 0; i < EDGE; i++) {
        for (int j = 0; j < EDGE; j++) {
            for (int k = 0; k < EDGE; k++) {
                make_row(i, j, k);
            }
        }
    }
}

static double dot(const double *one, const double *other) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < ROWS; i++) {
        sum += one[i] * other[i];
    }
    return sum;
}

// to = one + factor * other
static void add(double *to, const double *one, double factor, const double *other) {
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++) {
        to[i] = one[i] + factor * other[i];
    }
}

static void multiply(double *to, const double *vector) {
#pragma omp parallel for
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int n = 0; n < entries[i]; n++) {
            sum += values[i][n] * vector[columns[i][n]];
        }
        to[i] = sum;
    }
}

static void start(void) {
    memset(x, 0, sizeof x);
    memcpy(r, b, sizeof r);
    memcpy(p, b, sizeof p);
}

static void iterate(void) {
    double squares = dot(r, r);
    for (int n = 0; n < ITERATIONS; n++) {
        multiply(ap, p);
        double step = squares / dot(p, ap);
        add(x, x, step, p);
        add(r, r, -step, ap);
        double next = dot(r, r);
        // Where nothing is left, the quotients mean nothing.
        if (!(next > 0)) {
            break;
        }
        add(p, r, next / squares, p);
        squares = next;
    }
}

static void check(void) {
    for (int i = 0; i < ROWS; i++) {
        // Written so that a NaN fails, too.
        if (!(fabs(x[i] - 1) <= tolerance)) {
            bench_fail("the solution is %g at %d, not 1", x[i], i);
        }
    }
}

static void solve(const char *name) {
    make_matrix();
    bench_warm_up = 1;
    for (unsigned i = 0; i < bench_rounds(RUNS); i++) {
        start();
        uint64_t begun = bench_ticks();
        iterate();
        bench_sample(bench_ticks() - begun, 1);
        check();
    }
    bench_report(name);
}

static const struct bench_figure figures[] = {{"hpccg.solve", solve}};

int main(int argc, char **argv) {
    return bench_run_figures(argc, argv, figures, sizeof figures / sizeof figures[0]);
}
