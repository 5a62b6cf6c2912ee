// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Programs that divide their work by tasks, of the kinds that the Barcelona OpenMP Tasks Suite collects
// (Duran et al. 2009): a sum of two calls, a sort, a search and a matrix product. Below a size or a depth
// they go on without tasks. Each checks its result. NAME runs with a thread on each CPU, NAME_1 with one
// thread on the same machine.

#include "bench.h"

enum { RUNS = 5, NAME_BYTES = 64 };

/* --- Fibonacci numbers ---------------------------------------------------------------------------------- */

enum { FIB = 34, FIB_RESULT = 5702887, FIB_DEPTH = 9 };

static unsigned fib_serial(unsigned n) { return n < 2 ? n : fib_serial(n - 1) + fib_serial(n - 2); }

static unsigned fib_tasks(unsigned n, unsigned depth) {
    if (n < 2 || depth == 0) {
        return fib_serial(n);
    }
    unsigned one, other;
#pragma omp task shared(one)
    one = fib_tasks(n - 1, depth - 1);
#pragma omp task shared(other)
    other = fib_tasks(n - 2, depth - 1);
#pragma omp taskwait
    return one + other;
}

static void fib(void) {
    unsigned result = fib_tasks(FIB, FIB_DEPTH);
    if (result != FIB_RESULT) {
        bench_fail("fib(%d) is %d, not %u", FIB, FIB_RESULT, result);
    }
}

/* --- merge sort ----------------------------------------------------------------------------------------- */

enum { SORT = 1 << 19, SORT_SERIAL = 1 << 12 };

static uint32_t numbers[SORT], scratch[SORT];

static void merge(uint32_t *all, uint32_t *out, size_t middle, size_t count) {
    size_t left = 0, right = middle;
    for (size_t i = 0; i < count; i++) {
        bool takes_left = right == count || (left < middle && all[left] <= all[right]);
        out[i] = takes_left ? all[left++] : all[right++];
    }
    memcpy(all, out, count * sizeof all[0]);
}

static void sort_serially(uint32_t *all, uint32_t *out, size_t count) {
    if (count < 2) {
        return;
    }
    size_t middle = count / 2;
    sort_serially(all, out, middle);
    sort_serially(all + middle, out + middle, count - middle);
    merge(all, out, middle, count);
}

static void sort_tasks(uint32_t *all, uint32_t *out, size_t count) {
    if (count <= SORT_SERIAL) {
        sort_serially(all, out, count);
        return;
    }
    size_t middle = count / 2;
#pragma omp task
    sort_tasks(all, out, middle);
    sort_tasks(all + middle, out + middle, count - middle);
#pragma omp taskwait
    merge(all, out, middle, count);
}

static uint32_t next_random(uint32_t number) { return number * 1664525u + 1013904223u; }

static void sort_prepare(void) {
    uint32_t number = 1;
    for (size_t i = 0; i < SORT; i++) {
        numbers[i] = number = next_random(number);
    }
}

static void sort(void) { sort_tasks(numbers, scratch, SORT); }

static void sort_check(void) {
    uint32_t number = 1, sum = 0;
    for (size_t i = 0; i < SORT; i++) {
        number = next_random(number);
        sum += number - numbers[i];
        if (i > 0 && numbers[i - 1] > numbers[i]) {
            bench_fail("number %zu is greater than the next one", i - 1);
        }
    }
    if (sum != 0) {
        bench_fail("the sorted numbers are not the given ones");
    }
}

/* --- queens --------------------------------------------------------------------------------------------- */

enum { QUEENS = 12, QUEENS_RESULT = 14200, QUEENS_DEPTH = 3 };

// Placements of the rows that are left, with one bit for each column or diagonal that is attacked.
static unsigned place(unsigned row, unsigned columns, unsigned left, unsigned right) {
    if (row == QUEENS) {
        return 1;
    }
    unsigned counts[QUEENS] = {0}, all = 0;
    for (unsigned column = 0; column < QUEENS; column++) {
        unsigned bit = 1u << column;
        if ((columns | left | right) & bit) {
            continue;
        }
        unsigned next_left = (left | bit) << 1, next_right = (right | bit) >> 1;
        if (row < QUEENS_DEPTH) {
#pragma omp task shared(counts)
            counts[column] = place(row + 1, columns | bit, next_left, next_right);
        } else {
            counts[column] = place(row + 1, columns | bit, next_left, next_right);
        }
    }
    if (row < QUEENS_DEPTH) {
#pragma omp taskwait
    }
    for (unsigned column = 0; column < QUEENS; column++) {
        all += counts[column];
    }
    return all;
}

static void nqueens(void) {
    unsigned result = place(0, 0, 0, 0);
    if (result != QUEENS_RESULT) {
        bench_fail("%d queens have %d placements, not %u", QUEENS, QUEENS_RESULT, result);
    }
}

/* --- matrix product ------------------------------------------------------------------------------------- */

// Entries are small integers, so sums and products are exact and both ways to multiply give the same.
enum { MATRIX = 256, MATRIX_SERIAL = 64, MATRIX_ENTRIES = MATRIX * MATRIX, ENTRY_MOST = 7 };

static double factor_a[MATRIX_ENTRIES], factor_b[MATRIX_ENTRIES], product[MATRIX_ENTRIES];

// A square part of a matrix with rows of `stride` entries.
struct part {
    double *entries;
    size_t stride;
};

static struct part quarter(struct part whole, size_t half, unsigned row, unsigned column) {
    return (struct part){whole.entries + row * half * whole.stride + column * half, whole.stride};
}

static double *at(struct part part, size_t row, size_t column) {
    return &part.entries[row * part.stride + column];
}

// to = one + sign * other
static void combine(size_t size, struct part to, struct part one, struct part other, double sign) {
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < size; j++) {
            *at(to, i, j) = *at(one, i, j) + sign * *at(other, i, j);
        }
    }
}

static void multiply_serially(size_t size, struct part to, struct part a, struct part b) {
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < size; j++) {
            *at(to, i, j) = 0;
        }
        for (size_t k = 0; k < size; k++) {
            for (size_t j = 0; j < size; j++) {
                *at(to, i, j) += *at(a, i, k) * *at(b, k, j);
            }
        }
    }
}

static double *allocate(size_t entries) {
    double *memory = malloc(entries * sizeof *memory);
    if (memory == NULL) {
        bench_fail("no memory for a matrix");
    }
    return memory;
}

enum quarter_name { Q11, Q12, Q21, Q22, NO_QUARTER };

// One of Strassen's seven products: (a1 + sign_a a2)(b1 + sign_b b2), of quarters of the factors.
struct product {
    enum quarter_name a1, a2, b1, b2;
    double sign_a, sign_b;
};

static const struct product products[7] = {
    {Q11, Q22, Q11, Q22, 1, 1},         {Q21, Q22, Q11, NO_QUARTER, 1, 0}, {Q11, NO_QUARTER, Q12, Q22, 0, -1},
    {Q22, NO_QUARTER, Q21, Q11, 0, -1}, {Q11, Q12, Q22, NO_QUARTER, 1, 0}, {Q21, Q11, Q11, Q12, -1, 1},
    {Q12, Q22, Q21, Q22, -1, 1},
};

static struct part named(struct part whole, size_t half, enum quarter_name name) {
    return quarter(whole, half, name / 2, name % 2);
}

// A factor of a product: a quarter, or a combination of two in the memory given.
static struct part factor(struct part whole, size_t half, enum quarter_name one, enum quarter_name other,
                          double sign, double *memory) {
    struct part first = named(whole, half, one);
    if (other == NO_QUARTER) {
        return first;
    }
    struct part sum = {memory, half};
    combine(half, sum, first, named(whole, half, other), sign);
    return sum;
}

static void multiply(size_t size, struct part to, struct part a, struct part b);

static void multiply_quarters(size_t half, const struct product *which, double *to, struct part a,
                              struct part b) {
    double *memory = allocate(2 * half * half);
    struct part left = factor(a, half, which->a1, which->a2, which->sign_a, memory);
    struct part right = factor(b, half, which->b1, which->b2, which->sign_b, memory + half * half);
    multiply(half, (struct part){to, half}, left, right);
    free(memory);
}

static void multiply(size_t size, struct part to, struct part a, struct part b) {
    if (size <= MATRIX_SERIAL) {
        multiply_serially(size, to, a, b);
        return;
    }
    size_t half = size / 2, entries = half * half;
    double *m = allocate(7 * entries);
    for (int p = 0; p < 7; p++) {
#pragma omp task
        multiply_quarters(half, &products[p], m + (size_t)p * entries, a, b);
    }
#pragma omp taskwait
    for (size_t i = 0; i < half; i++) {
        for (size_t j = 0; j < half; j++) {
            const double *one = &m[i * half + j];
            double m1 = one[0], m2 = one[entries], m3 = one[2 * entries], m4 = one[3 * entries];
            double m5 = one[4 * entries], m6 = one[5 * entries], m7 = one[6 * entries];
            *at(quarter(to, half, 0, 0), i, j) = m1 + m4 - m5 + m7;
            *at(quarter(to, half, 0, 1), i, j) = m3 + m5;
            *at(quarter(to, half, 1, 0), i, j) = m2 + m4;
            *at(quarter(to, half, 1, 1), i, j) = m1 - m2 + m3 + m6;
        }
    }
    free(m);
}

static struct part whole(double *entries) { return (struct part){entries, MATRIX}; }

static void strassen_prepare(void) {
    uint32_t number = 7;
    for (size_t i = 0; i < MATRIX_ENTRIES; i++) {
        factor_a[i] = (number = next_random(number)) >> 16 & ENTRY_MOST;
        factor_b[i] = (number = next_random(number)) >> 16 & ENTRY_MOST;
    }
}

static void strassen(void) { multiply(MATRIX, whole(product), whole(factor_a), whole(factor_b)); }

static void strassen_check(void) {
    static double expected[MATRIX_ENTRIES];
    multiply_serially(MATRIX, whole(expected), whole(factor_a), whole(factor_b));
    for (size_t i = 0; i < MATRIX_ENTRIES; i++) {
        if (product[i] != expected[i]) {
            bench_fail("entry %zu of the product is %g, not %g", i, product[i], expected[i]);
        }
    }
}

/* --- all ------------------------------------------------------------------------------------------------ */

static void nothing(void) {}

static const struct program {
    const char *name;
    void (*prepare)(void);
    void (*run)(void); /* by one thread of a team */
    void (*check)(void);
} programs[] = {
    {"openmp.fib", nothing, fib, nothing},
    {"openmp.sort", sort_prepare, sort, sort_check},
    {"openmp.nqueens", nothing, nqueens, nothing},
    {"openmp.strassen", strassen_prepare, strassen, strassen_check},
};

static void time_program(const struct program *program, const char *name, unsigned threads) {
    bench_warm_up = 1;
    for (unsigned i = 0; i < bench_rounds(RUNS); i++) {
        program->prepare();
        uint64_t start = bench_ticks();
#pragma omp parallel num_threads(threads)
#pragma omp single
        program->run();
        bench_sample(bench_ticks() - start, 1);
        program->check();
    }
    bench_report(name);
}

static void measure(const char *name) {
    char alone[NAME_BYTES];
    snprintf(alone, sizeof alone, "%s_1", name);
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
        if (strcmp(programs[p].name, name) == 0) {
            time_program(&programs[p], name, bench.cpus);
            time_program(&programs[p], alone, 1);
        }
    }
}

int main(int argc, char **argv) {
    enum { COUNT = sizeof programs / sizeof programs[0] };
    struct bench_figure figures[COUNT];
    for (int p = 0; p < COUNT; p++) {
        figures[p] = (struct bench_figure){programs[p].name, measure};
    }
    return bench_run_figures(argc, argv, figures, COUNT);
}
