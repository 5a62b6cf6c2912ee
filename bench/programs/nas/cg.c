// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// NAS kernel CG, "conjugate gradient": the smallest eigenvalue of a sparse symmetric matrix by inverse
// iteration, each step of which solves a linear system by the method of conjugate gradients. It measures
// irregular reads of memory, and many short parallel loops with sums.
//
// The matrix is A = sum over i of w_i x_i x_i^T + (0.1 - shift) I, where the weights w_i fall from 1 to 0.1
// geometrically and x_i is a random sparse vector whose i-th component is 0.5.
//
// Timed: the steps of the inverse iteration, after one more step that is not, which touches all memory.

#include "nas.h"

#include <math.h>

enum {
    ROWS = NAS_BY_CLASS(1400, 7000, 14000, 75000, 150000),
    VECTOR_RANDOMS = NAS_BY_CLASS(7, 8, 11, 13, 15), // random components of an x_i
    VECTOR_SLOTS = VECTOR_RANDOMS + 1,
    MATRIX_SLOTS = ROWS * VECTOR_SLOTS * VECTOR_SLOTS,
    STEPS = NAS_BY_CLASS(15, 15, 15, 75, 75),
    SOLVER_STEPS = 25,
};

static const double shift = NAS_BY_CLASS(10, 12, 20, 60, 110);
static const double condition = 0.1; // the reciprocal condition number
static const double published_zeta =
    NAS_BY_CLASS(8.5971775078648, 10.362595087124, 17.130235054029, 22.712745482631, 28.973605592845);
static const double tolerance = 1e-10;

// The sparse vectors x_i. Slot s of vector i is component `row` with `value`.
static struct {
    int count[ROWS];
    int row[ROWS][VECTOR_SLOTS];
    double value[ROWS][VECTOR_SLOTS];
} vectors;

// The matrix by rows: elements [start[r], end[r]) are those of row r, in order of columns. Rows begin where
// they would if no two products fell on the same element, so there are small gaps between them.
static struct {
    int start[ROWS + 1];
    int end[ROWS];
    uint32_t column[MATRIX_SLOTS];
    double value[MATRIX_SLOTS];
} matrix;

static double x[ROWS]; // the eigenvector so far
static double z[ROWS]; // the solution of A z = x
static double p[ROWS]; // direction of the search
static double q[ROWS]; // A p
static double r[ROWS]; // residual

// Returns the slot of a vector that has a row, or else the number of its slots.
static int find_slot(int vector, int row) {
    int slot = 0;
    while (slot < vectors.count[vector] && vectors.row[vector][slot] != row) {
        slot++;
    }
    return slot;
}

static void set_component(int vector, int row, double value) {
    int slot = find_slot(vector, row);
    vectors.row[vector][slot] = row;
    vectors.value[vector][slot] = value;
    if (slot == vectors.count[vector]) {
        vectors.count[vector]++;
    }
}

// Values and rows take turns in the sequence. A row that is past the matrix or in use costs its value too.
static void generate_vector(int vector, uint64_t *random) {
    uint64_t row_limit = 1; // the least power of two that is not less than ROWS
    while (row_limit < ROWS) {
        row_limit *= 2;
    }
    while (vectors.count[vector] < VECTOR_RANDOMS) {
        double value = nas_random_next(random);
        int row = (int)((double)row_limit * nas_random_next(random));
        if (row < ROWS && find_slot(vector, row) == vectors.count[vector]) {
            set_component(vector, row, value);
        }
    }
    set_component(vector, vector, 0.5);
}

// Adds to an element of a row, which need not exist. Its columns stay in order, for memory's sake.
static void add_element(int row, uint32_t column, double value) {
    int low = matrix.start[row], high = matrix.end[row];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (matrix.column[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int end = matrix.end[row];
    if (low < end && matrix.column[low] == column) {
        matrix.value[low] += value;
        return;
    }
    size_t behind = (size_t)(end - low);
    memmove(&matrix.column[low + 1], &matrix.column[low], behind * sizeof matrix.column[0]);
    memmove(&matrix.value[low + 1], &matrix.value[low], behind * sizeof matrix.value[0]);
    matrix.column[low] = column;
    matrix.value[low] = value;
    matrix.end[row]++;
}

// Adds a row of w_i x_i x_i^T.
static void add_product(int row, int vector, int slot) {
    double factor = pow(condition, (double)vector / ROWS) * vectors.value[vector][slot];
    for (int s = 0; s < vectors.count[vector]; s++) {
        add_element(row, (uint32_t)vectors.row[vector][s], factor * vectors.value[vector][s]);
    }
}

// Lists by row which slots of vectors have it, so that rows can be assembled in parallel: `users` gets slot
// numbers i * VECTOR_SLOTS + s, and those of row r are [first[r], first[r + 1]). Gives rows their places too.
static void list_users(int *users, int *first) {
    for (int i = 0; i < ROWS; i++) {
        for (int s = 0; s < vectors.count[i]; s++) {
            int row = vectors.row[i][s];
            first[row + 1]++;
            matrix.start[row + 1] += vectors.count[i];
        }
    }
    for (int row = 0; row < ROWS; row++) {
        first[row + 1] += first[row];
        matrix.start[row + 1] += matrix.start[row];
        matrix.end[row] = first[row]; // for now, where the next user goes
    }
    for (int i = 0; i < ROWS; i++) {
        for (int s = 0; s < vectors.count[i]; s++) {
            users[matrix.end[vectors.row[i][s]]++] = i * VECTOR_SLOTS + s;
        }
    }
}

static void generate_matrix(void) {
    uint64_t random = nas_random_step(NAS_RANDOM_SEED); // the benchmark drops the first number
    for (int i = 0; i < ROWS; i++) {
        generate_vector(i, &random);
    }
    static int users[ROWS * VECTOR_SLOTS], first[ROWS + 1];
    list_users(users, first);
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++) {
        matrix.end[row] = matrix.start[row];
        for (int u = first[row]; u < first[row + 1]; u++) {
            add_product(row, users[u] / VECTOR_SLOTS, users[u] % VECTOR_SLOTS);
        }
        add_element(row, (uint32_t)row, condition - shift);
    }
}

// A row of the matrix times a vector. Four sums, because one alone would wait for each addition.
static inline double multiply_row(int row, const double *vector) {
    double sums[4] = {0};
    int i = matrix.start[row], end = matrix.end[row];
    for (; i + 4 <= end; i += 4) {
        sums[0] += matrix.value[i] * vector[matrix.column[i]];
        sums[1] += matrix.value[i + 1] * vector[matrix.column[i + 1]];
        sums[2] += matrix.value[i + 2] * vector[matrix.column[i + 2]];
        sums[3] += matrix.value[i + 3] * vector[matrix.column[i + 3]];
    }
    for (; i < end; i++) {
        sums[0] += matrix.value[i] * vector[matrix.column[i]];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// What follows is called by all threads of a team.

static double team_sum;

static void clear_team_sum(void) {
#pragma omp barrier // somebody may not have read the last sum yet
#pragma omp single
    team_sum = 0;
}

static double dot(const double *left, const double *right) {
    clear_team_sum();
#pragma omp for simd schedule(static) reduction(+ : team_sum)
    for (int i = 0; i < ROWS; i++) {
        team_sum += left[i] * right[i];
    }
    return team_sum;
}

// |x - A z|
static double residual_norm(void) {
    clear_team_sum();
#pragma omp for schedule(static) reduction(+ : team_sum)
    for (int i = 0; i < ROWS; i++) {
        double difference = x[i] - multiply_row(i, z);
        team_sum += difference * difference;
    }
    return sqrt(team_sum);
}

// Sums of the solver's loops. Each is cleared by the master during the loop after the one behind whose
// barrier all have read it, so that clearing needs no barrier of its own.
static double p_dot_q, r_dot_r;

// Solves A z = x approximately and returns the norm of the residual.
static double solve(void) {
#pragma omp for simd schedule(static)
    for (int i = 0; i < ROWS; i++) {
        z[i] = 0;
        r[i] = p[i] = x[i];
    }
    double rho = dot(r, r);
    for (int step = 0; step < SOLVER_STEPS; step++) {
#pragma omp master
        r_dot_r = 0;
#pragma omp for schedule(static) reduction(+ : p_dot_q)
        for (int i = 0; i < ROWS; i++) {
            q[i] = multiply_row(i, p);
            p_dot_q += p[i] * q[i];
        }
        double alpha = rho / p_dot_q;
#pragma omp for simd schedule(static) reduction(+ : r_dot_r)
        for (int i = 0; i < ROWS; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            r_dot_r += r[i] * r[i];
        }
        double beta = r_dot_r / rho;
        rho = r_dot_r;
#pragma omp master
        p_dot_q = 0;
#pragma omp for simd schedule(static)
        for (int i = 0; i < ROWS; i++) {
            p[i] = r[i] + beta * p[i];
        }
    }
    return residual_norm();
}

static void start_iteration(void) {
#pragma omp for simd schedule(static)
    for (int i = 0; i < ROWS; i++) {
        x[i] = 1;
    }
}

// A step of the inverse iteration. Returns the estimate of the eigenvalue.
static double iterate(double *residual) {
    *residual = solve();
    double x_dot_z = dot(x, z);
    double inverse_norm = 1 / sqrt(dot(z, z));
#pragma omp for simd schedule(static)
    for (int i = 0; i < ROWS; i++) {
        x[i] = inverse_norm * z[i];
    }
    return shift + 1 / x_dot_z;
}

int main(void) {
    char size[64];
    snprintf(size, sizeof size, "%d rows, %d steps", ROWS, STEPS);
    nas_print_title("CG", size);
    generate_matrix();

    double seconds = 0, zetas[STEPS], residuals[STEPS];
#pragma omp parallel
    {
        double zeta, residual;
        start_iteration();
        iterate(&residual);
        start_iteration();
#pragma omp master
        nas_start_clock();
        for (int step = 0; step < STEPS; step++) {
            zeta = iterate(&residual);
#pragma omp master
            {
                zetas[step] = zeta;
                residuals[step] = residual;
            }
        }
#pragma omp master
        seconds = nas_stop_clock();
    }

    for (int step = 0; step < STEPS; step++) {
        printf("step %2d: residual %.6e, zeta %.13f\n", step + 1, residuals[step], zetas[step]);
    }
    if (!nas_is_close(zetas[STEPS - 1], published_zeta, tolerance)) {
        nas_fail("CG: published is zeta %.13f", published_zeta);
    }
    nas_report("cg", seconds);
    return 0;
}
