// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// NAS kernel MG, "multigrid": the discrete Poisson problem A u = v on a periodic cube by V-cycles over grids
// of N, N/2, ..., 2 points a side. It measures streams through memory on large grids, and barriers on small
// ones.
//
// All operators are stencils of 27 points whose coefficients depend on the distance from the centre only: the
// centre, the 6 faces, the 12 edges and the 8 corners of a cube around it.
//
//   A  Laplacian             -8/3    0     1/6    1/12
//   S  smoother               by class                    the corners have 0
//   P  to the coarser grid    1/2    1/4   1/8    1/16
//   Q  to the finer grid      1      1/2   1/4    1/8     the transpose of P but for a factor: interpolation
//
// Class C needs -mcmodel=large (for gcc, medium is enough): its arrays take 3.6 GB, and code of the usual
// model reaches no further than 2 GiB.
//
// Timed: the first residual, the V-cycles with the residuals after them, and the norm of the last one; not
// the choice of v. Clearing all grids before that touches all memory.

#include "nas.h"

#include <math.h>

enum {
    LEVELS = NAS_BY_CLASS(5, 7, 8, 8, 9), // the grid of level k has 2^(k + 1) points a side
    TOP = LEVELS - 1,
    SIDE = 1 << LEVELS,
    PITCH_MAX = SIDE + 2,
    CYCLES = NAS_BY_CLASS(4, 4, 4, 20, 20),
    CHARGES = 10, // of each sign
};

static const double laplace_centre = -8.0 / 3.0, laplace_edge = 1.0 / 6.0, laplace_corner = 1.0 / 12.0;
static const double smooth_centre = NAS_BY_CLASS(-3.0 / 8, -3.0 / 8, -3.0 / 8, -3.0 / 17, -3.0 / 17);
static const double smooth_face = NAS_BY_CLASS(1.0 / 32, 1.0 / 32, 1.0 / 32, 1.0 / 33, 1.0 / 33);
static const double smooth_edge = NAS_BY_CLASS(-1.0 / 64, -1.0 / 64, -1.0 / 64, -1.0 / 61, -1.0 / 61);
static const double published_norm = NAS_BY_CLASS(0.5307707005734e-4, 0.6467329375339e-5, 0.2433365309069e-5,
                                                  0.1800564401355e-5, 0.5706732285740e-6);
static const double tolerance = 1e-8;

// A cube of points 1 to `side` in each direction, x being the innermost. Around them lies a shell of copies
// of the opposite faces, so that stencils need not wrap; it also keeps rows and planes from being powers of
// two apart, where they would compete for the same places in caches.
struct grid {
    int side;
    double *points;
};

// Points of all grids up to a level, each with its shell
#define CUBE(side) ((size_t)((side) + 2) * ((side) + 2) * ((side) + 2))
#define CUBES_TO_32 (CUBE(2) + CUBE(4) + CUBE(8) + CUBE(16) + CUBE(32))
#define CUBES_TO_128 (CUBES_TO_32 + CUBE(64) + CUBE(128))
#define CUBES_TO_256 (CUBES_TO_128 + CUBE(256))
#define CUBES_TO_512 (CUBES_TO_256 + CUBE(512))
#define ALL_CUBES NAS_BY_CLASS(CUBES_TO_32, CUBES_TO_128, CUBES_TO_256, CUBES_TO_256, CUBES_TO_512)

static double u_points[ALL_CUBES], r_points[ALL_CUBES], v_points[CUBE(SIDE)];
static struct grid u[LEVELS]; // the solution; on coarser grids, the correction
static struct grid r[LEVELS]; // the residual
static struct grid v = {SIDE, v_points};

static inline double *row_at(const struct grid *grid, int z, int y) {
    size_t pitch = (size_t)grid->side + 2;
    return grid->points + ((size_t)z * pitch + (size_t)y) * pitch;
}

static void copy_plane(const struct grid *grid, int to, int from) {
    size_t pitch = (size_t)grid->side + 2;
    memcpy(row_at(grid, to, 0), row_at(grid, from, 0), pitch * pitch * sizeof(double));
}

// Completes the shell around a plane whose points were just computed. What is copied to the far plane lies in
// the shell, which no operator reads of the grid that it writes: so this needs no barrier of its own.
static void wrap_plane(const struct grid *grid, int z) {
    int side = grid->side;
    for (int y = 1; y <= side; y++) {
        double *row = row_at(grid, z, y);
        row[0] = row[side];
        row[side + 1] = row[1];
    }
    size_t row_bytes = ((size_t)side + 2) * sizeof(double);
    memcpy(row_at(grid, z, 0), row_at(grid, z, side), row_bytes);
    memcpy(row_at(grid, z, side + 1), row_at(grid, z, 1), row_bytes);
    if (z == 1) {
        copy_plane(grid, side + 1, 1);
    }
    if (z == side) {
        copy_plane(grid, 0, side);
    }
}

// Sums over the neighbours of a row's points within the plane across the row: `near` of the 4 that share an
// edge with the point's square and `far` of the 4 diagonal ones. A stencil's faces are then two points of the
// row and `near`; its edges two of `near` and `far`; its corners two of `far`. That takes about a third of
// the additions.
static inline void sum_neighbours(const struct grid *grid, int z, int y, double *restrict near,
                                  double *restrict far) {
    const double *below = row_at(grid, z - 1, y), *above = row_at(grid, z + 1, y);
    const double *left = row_at(grid, z, y - 1), *right = row_at(grid, z, y + 1);
    const double *below_left = row_at(grid, z - 1, y - 1), *below_right = row_at(grid, z - 1, y + 1);
    const double *above_left = row_at(grid, z + 1, y - 1), *above_right = row_at(grid, z + 1, y + 1);
#pragma omp simd
    for (int x = 0; x < grid->side + 2; x++) {
        near[x] = below[x] + above[x] + left[x] + right[x];
        far[x] = below_left[x] + below_right[x] + above_left[x] + above_right[x];
    }
}

// What follows is called by all threads of a team.

static void clear(const struct grid *grid) {
    int side = grid->side;
    size_t pitch = (size_t)side + 2;
#pragma omp for schedule(static)
    for (int z = 1; z <= side; z++) {
        memset(row_at(grid, z, 0), 0, pitch * pitch * sizeof(double));
        wrap_plane(grid, z);
    }
}

// r = v - A u. Both r and v may be the same grid.
static void subtract_laplacian(const struct grid *r, const struct grid *v, const struct grid *u) {
    double near[PITCH_MAX], far[PITCH_MAX];
    int side = r->side;
#pragma omp for schedule(static)
    for (int z = 1; z <= side; z++) {
        for (int y = 1; y <= side; y++) {
            sum_neighbours(u, z, y, near, far);
            const double *centre = row_at(u, z, y), *given = row_at(v, z, y);
            double *result = row_at(r, z, y);
#pragma omp simd
            for (int x = 1; x <= side; x++) {
                result[x] = given[x] - laplace_centre * centre[x] -
                            laplace_edge * (far[x] + near[x - 1] + near[x + 1]) -
                            laplace_corner * (far[x - 1] + far[x + 1]);
            }
        }
        wrap_plane(r, z);
    }
}

// u = u + S r
static void smooth(const struct grid *u, const struct grid *r) {
    double near[PITCH_MAX], far[PITCH_MAX];
    int side = u->side;
#pragma omp for schedule(static)
    for (int z = 1; z <= side; z++) {
        for (int y = 1; y <= side; y++) {
            sum_neighbours(r, z, y, near, far);
            const double *centre = row_at(r, z, y);
            double *result = row_at(u, z, y);
#pragma omp simd
            for (int x = 1; x <= side; x++) {
                result[x] += smooth_centre * centre[x] +
                             smooth_face * (near[x] + centre[x - 1] + centre[x + 1]) +
                             smooth_edge * (far[x] + near[x - 1] + near[x + 1]);
            }
        }
        wrap_plane(u, z);
    }
}

// coarse = P fine. Point x of the coarse grid is point 2 x of the fine one.
static void restrict_to(const struct grid *coarse, const struct grid *fine) {
    double near[PITCH_MAX], far[PITCH_MAX];
    int side = coarse->side;
#pragma omp for schedule(static)
    for (int z = 1; z <= side; z++) {
        for (int y = 1; y <= side; y++) {
            sum_neighbours(fine, 2 * z, 2 * y, near, far);
            const double *centre = row_at(fine, 2 * z, 2 * y);
            double *result = row_at(coarse, z, y);
            for (int x = 1; x <= side; x++) {
                int at = 2 * x;
                result[x] = 0.5 * centre[at] + 0.25 * (near[at] + centre[at - 1] + centre[at + 1]) +
                            0.125 * (far[at] + near[at - 1] + near[at + 1]) +
                            0.0625 * (far[at - 1] + far[at + 1]);
            }
        }
        wrap_plane(coarse, z);
    }
}

// The mean of the coarse rows next to row (z, y) of the fine grid: one where both are even, else two or four.
static inline void average_rows(const struct grid *coarse, int z, int y, double *restrict mean) {
    const double *rows[4] = {row_at(coarse, z / 2, y / 2), row_at(coarse, (z + 1) / 2, y / 2),
                             row_at(coarse, z / 2, (y + 1) / 2), row_at(coarse, (z + 1) / 2, (y + 1) / 2)};
#pragma omp simd
    for (int x = 0; x <= coarse->side; x++) {
        mean[x] = 0.25 * (rows[0][x] + rows[1][x] + rows[2][x] + rows[3][x]);
    }
}

// fine = keep * fine + Q coarse, where `keep` is 0 or 1.
static void interpolate(const struct grid *fine, const struct grid *coarse, bool keep) {
    double mean[PITCH_MAX];
    int side = fine->side;
#pragma omp for schedule(static)
    for (int z = 1; z <= side; z++) {
        for (int y = 1; y <= side; y++) {
            average_rows(coarse, z, y, mean);
            double *result = row_at(fine, z, y);
            if (!keep) {
                memset(result, 0, ((size_t)side + 2) * sizeof(double));
            }
            for (int x = 1; x <= side / 2; x++) {
                result[2 * x - 1] += 0.5 * (mean[x - 1] + mean[x]);
                result[2 * x] += mean[x];
            }
        }
        wrap_plane(fine, z);
    }
}

// u = u + M r on the finest grid, where M is a V-cycle: down to the coarsest grid, then up again, with a
// correction and a smoothing on each. Coarser grids' u begin as 0.
static void cycle(void) {
    for (int k = TOP; k > 0; k--) {
        restrict_to(&r[k - 1], &r[k]);
    }
    clear(&u[0]);
    smooth(&u[0], &r[0]);
    for (int k = 1; k <= TOP; k++) {
        interpolate(&u[k], &u[k - 1], k == TOP);
        subtract_laplacian(&r[k], k == TOP ? &v : &r[k], &u[k]);
        smooth(&u[k], &r[k]);
    }
}

static double square_sum;

// The root mean square of a grid's points. For once: the sum is not cleared.
static double norm(const struct grid *grid) {
    int side = grid->side;
#pragma omp for schedule(static) reduction(+ : square_sum)
    for (int z = 1; z <= side; z++) {
        for (int y = 1; y <= side; y++) {
            const double *row = row_at(grid, z, y);
            double row_sum =
                0; // clang 14 loses sums of a reduction nested directly in another of its variable
#pragma omp simd reduction(+ : row_sum)
            for (int x = 1; x <= side; x++) {
                row_sum += row[x] * row[x];
            }
            square_sum += row_sum;
        }
    }
    return sqrt(square_sum / ((double)side * side * side));
}

// Extreme numbers and where they are, the most extreme one first.
struct extremes {
    double number[CHARGES];
    double *point[CHARGES];
};

// Enters a number if it is among the least so far.
static void enter_least(struct extremes *least, double number, double *point) {
    int i = CHARGES - 1;
    if (number >= least->number[i]) {
        return;
    }
    for (; i > 0 && number < least->number[i - 1]; i--) {
        least->number[i] = least->number[i - 1];
        least->point[i] = least->point[i - 1];
    }
    least->number[i] = number;
    least->point[i] = point;
}

static void clear_extremes(struct extremes *extremes) {
    for (int i = 0; i < CHARGES; i++) {
        extremes->number[i] = HUGE_VAL;
    }
}

static void merge_least(struct extremes *into, const struct extremes *from) {
    for (int i = 0; i < CHARGES; i++) {
        enter_least(into, from->number[i], from->point[i]);
    }
}

// A random number belongs to each point. The points of the ten greatest have the charge 1, those of the ten
// least -1, and all others none. The greatest are found as the least of the negated numbers.
static struct extremes least, greatest;

static void place_charges(void) {
    double numbers[SIDE];
    struct extremes own_least, own_greatest;
    clear_extremes(&own_least);
    clear_extremes(&own_greatest);
#pragma omp for schedule(static)
    for (int row = 0; row < SIDE * SIDE; row++) {
        double *points = row_at(&v, row / SIDE + 1, row % SIDE + 1) + 1;
        nas_random_fill(numbers, SIDE, nas_random_skip(NAS_RANDOM_SEED, (uint64_t)row * SIDE));
        for (int x = 0; x < SIDE; x++) {
            enter_least(&own_least, numbers[x], &points[x]);
            enter_least(&own_greatest, -numbers[x], &points[x]);
        }
    }
#pragma omp critical
    {
        merge_least(&least, &own_least);
        merge_least(&greatest, &own_greatest);
    }
    clear(&v);
#pragma omp single
    for (int i = 0; i < CHARGES; i++) {
        *least.point[i] = -1;
        *greatest.point[i] = 1;
    }
#pragma omp for schedule(static)
    for (int z = 1; z <= SIDE; z++) {
        wrap_plane(&v, z);
    }
}

// Gives all levels' grids their parts of the arrays.
static void lay_out_grids(void) {
    size_t used = 0;
    for (int k = 0; k < LEVELS; k++) {
        int side = 2 << k;
        u[k] = (struct grid){side, u_points + used};
        r[k] = (struct grid){side, r_points + used};
        used += CUBE(side);
    }
}

int main(void) {
    char size[64];
    snprintf(size, sizeof size, "%d^3 points, %d cycles", SIDE, CYCLES);
    nas_print_title("MG", size);
    lay_out_grids();
    clear_extremes(&least);
    clear_extremes(&greatest);

    double seconds = 0, result = 0;
#pragma omp parallel
    {
        place_charges();
        for (int k = 0; k < LEVELS; k++) {
            clear(&u[k]);
            clear(&r[k]);
        }
#pragma omp master
        nas_start_clock();
        subtract_laplacian(&r[TOP], &v, &u[TOP]);
        for (int i = 0; i < CYCLES; i++) {
            cycle();
            subtract_laplacian(&r[TOP], &v, &u[TOP]);
        }
        double own_result = norm(&r[TOP]);
#pragma omp master
        {
            seconds = nas_stop_clock();
            result = own_result;
        }
    }

    printf("norm of the residual %.13e\n", result);
    if (!nas_is_close(result, published_norm, tolerance)) {
        nas_fail("MG: published is the norm %.13e", published_norm);
    }
    nas_report("mg", seconds);
    return 0;
}
