// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// BT's factors: a block-tridiagonal system along each grid line, solved by block elimination without
// pivoting.
//
// In the row of point i the blocks are, with A the derivative of the flux along the line and N that of the
// viscous terms plus the diffusion, both by u at the point whose index they carry (RNR-94-007, chapter 3):
//
//   lower     - dt/2h A(i-1) - dt/h2 N(i-1)
//   diagonal  I              + dt/h2 2 N(i)
//   upper     + dt/2h A(i+1) - dt/h2 N(i+1)
//
// The solution does not change on the boundary, so the blocks that would multiply it are left out. The
// momenta stand in the order normal, tangential, tangential (cfd_lines.c), so one set of formulas does for
// all axes.

#include "bt.h"

enum { DENSITY, NORMAL, TANGENT, BINORMAL, ENERGY };

typedef cfd_lanes block[CFD_COMPONENTS][CFD_COMPONENTS];

// What the derivatives at a point are made of.
struct state {
    cfd_lanes volume;             // 1/density
    cfd_lanes velocity[CFD_AXES]; // normal, tangential, tangential
    cfd_lanes kinetic;            // half the square of the velocity
    cfd_lanes energy;             // per mass
};

// One line's system between elimination and substitution. It is too large for the stacks of some threads.
static _Thread_local struct {
    cfd_point u[CFD_SIZE];
    cfd_point x[CFD_SIZE]; // right-hand side, then solution
    struct state state[CFD_SIZE];
    block upper[CFD_SIZE]; // after elimination, with a unit diagonal
} line;

static void derive_state(const cfd_point u, struct state *state) {
    state->volume = 1.0 / u[DENSITY];
    CFD_UNROLL
    for (int n = 0; n < CFD_AXES; n++) {
        state->velocity[n] = u[NORMAL + n] * state->volume;
    }
    const cfd_lanes *v = state->velocity;
    state->kinetic = 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    state->energy = u[ENERGY] * state->volume;
}

static inline void clear(block out) {
    CFD_UNROLL
    for (int row = 0; row < CFD_COMPONENTS; row++) {
        CFD_UNROLL
        for (int column = 0; column < CFD_COMPONENTS; column++) {
            out[row][column] = (cfd_lanes){0};
        }
    }
}

// out += scale * A
static inline void add_flux_derivative(block out, const struct state *at, double scale) {
    const cfd_lanes *v = at->velocity;
    cfd_lanes carrier = scale * v[0];
    cfd_lanes enthalpy = CFD_K1 * at->energy - CFD_K2 * at->kinetic;
    out[DENSITY][NORMAL] += scale;

    out[NORMAL][DENSITY] += scale * (CFD_K2 * at->kinetic) - carrier * v[0];
    out[NORMAL][NORMAL] += (2.0 - CFD_K2) * carrier;
    out[NORMAL][TANGENT] -= (scale * CFD_K2) * v[1];
    out[NORMAL][BINORMAL] -= (scale * CFD_K2) * v[2];
    out[NORMAL][ENERGY] += scale * CFD_K2;

    out[TANGENT][DENSITY] -= carrier * v[1];
    out[TANGENT][NORMAL] += scale * v[1];
    out[TANGENT][TANGENT] += carrier;

    out[BINORMAL][DENSITY] -= carrier * v[2];
    out[BINORMAL][NORMAL] += scale * v[2];
    out[BINORMAL][BINORMAL] += carrier;

    out[ENERGY][DENSITY] += carrier * (CFD_K2 * at->kinetic - enthalpy);
    out[ENERGY][NORMAL] += scale * enthalpy - CFD_K2 * carrier * v[0];
    out[ENERGY][TANGENT] -= CFD_K2 * carrier * v[1];
    out[ENERGY][BINORMAL] -= CFD_K2 * carrier * v[2];
    out[ENERGY][ENERGY] += CFD_K1 * carrier;
}

// out += scale * N
static inline void add_viscous_derivative(block out, const struct state *at, double diffusion, double scale) {
    static const double viscosity[CFD_AXES] = {CFD_NORMAL_VISCOSITY, CFD_VISCOSITY, CFD_VISCOSITY};
    cfd_lanes volume = scale * at->volume;
    cfd_lanes by_density = CFD_CONDUCTION * at->energy;
    CFD_UNROLL
    for (int n = 0; n < CFD_AXES; n++) {
        cfd_lanes v = at->velocity[n];
        out[NORMAL + n][DENSITY] -= viscosity[n] * volume * v;
        out[NORMAL + n][NORMAL + n] += viscosity[n] * volume;
        out[ENERGY][NORMAL + n] += (viscosity[n] - CFD_CONDUCTION) * volume * v;
        by_density += (viscosity[n] - CFD_CONDUCTION) * v * v;
    }
    out[ENERGY][DENSITY] -= volume * by_density;
    out[ENERGY][ENERGY] += CFD_CONDUCTION * volume;
    CFD_UNROLL
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        out[m][m] += scale * diffusion;
    }
}

// The block that multiplies the neighbour at `direction` (-1 or +1).
static inline void neighbour_block(block out, const struct state *neighbour, enum cfd_axis axis,
                                   double direction) {
    double h = cfd.spacing;
    clear(out);
    add_flux_derivative(out, neighbour, direction * cfd.time_step / (2.0 * h));
    add_viscous_derivative(out, neighbour, cfd_diffusion[axis], -cfd.time_step / (h * h));
}

static inline void diagonal_block(block out, const struct state *at, enum cfd_axis axis) {
    double h = cfd.spacing;
    clear(out);
    add_viscous_derivative(out, at, cfd_diffusion[axis], 2.0 * cfd.time_step / (h * h));
    CFD_UNROLL
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        out[m][m] += 1.0;
    }
}

// out -= a * b
static inline void subtract_product(block out, const block a, const block b) {
    for (int row = 0; row < CFD_COMPONENTS; row++) {
        CFD_UNROLL
        for (int column = 0; column < CFD_COMPONENTS; column++) {
            cfd_lanes sum = out[row][column];
            CFD_UNROLL
            for (int n = 0; n < CFD_COMPONENTS; n++) {
                sum -= a[row][n] * b[n][column];
            }
            out[row][column] = sum;
        }
    }
}

static inline void subtract_times(cfd_point out, const block a, const cfd_point x) {
    CFD_UNROLL
    for (int row = 0; row < CFD_COMPONENTS; row++) {
        cfd_lanes sum = out[row];
        CFD_UNROLL
        for (int n = 0; n < CFD_COMPONENTS; n++) {
            sum -= a[row][n] * x[n];
        }
        out[row] = sum;
    }
}

// Replaces a block by its factors, a unit lower and an upper triangle, the latter with inverted diagonal.
static inline void factorize(block a) {
    CFD_UNROLL
    for (int pivot = 0; pivot < CFD_COMPONENTS; pivot++) {
        a[pivot][pivot] = 1.0 / a[pivot][pivot];
        CFD_UNROLL
        for (int row = pivot + 1; row < CFD_COMPONENTS; row++) {
            a[row][pivot] *= a[pivot][pivot];
            CFD_UNROLL
            for (int column = pivot + 1; column < CFD_COMPONENTS; column++) {
                a[row][column] -= a[row][pivot] * a[pivot][column];
            }
        }
    }
}

// Solves for one column; `stride` is the distance between its elements.
static inline void solve_factored(const block a, cfd_lanes *column, size_t stride) {
    cfd_lanes x[CFD_COMPONENTS];
    CFD_UNROLL
    for (int row = 0; row < CFD_COMPONENTS; row++) {
        x[row] = column[(size_t)row * stride];
        CFD_UNROLL
        for (int n = 0; n < row; n++) {
            x[row] -= a[row][n] * x[n];
        }
    }
    CFD_UNROLL
    for (int row = CFD_COMPONENTS - 1; row >= 0; row--) {
        CFD_UNROLL
        for (int n = row + 1; n < CFD_COMPONENTS; n++) {
            x[row] -= a[row][n] * x[n];
        }
        x[row] *= a[row][row];
        column[(size_t)row * stride] = x[row];
    }
}

static void eliminate(enum cfd_axis axis) {
    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
        block diagonal;
        diagonal_block(diagonal, &line.state[i], axis);
        if (i > CFD_FIRST_INNER) {
            block lower;
            neighbour_block(lower, &line.state[i - 1], axis, -1.0);
            subtract_product(diagonal, lower, line.upper[i - 1]);
            subtract_times(line.x[i], lower, line.x[i - 1]);
        }
        factorize(diagonal);
        solve_factored(diagonal, line.x[i], 1);
        if (i < cfd.last_inner) {
            neighbour_block(line.upper[i], &line.state[i + 1], axis, 1.0);
            for (int column = 0; column < CFD_COMPONENTS; column++) {
                solve_factored(diagonal, &line.upper[i][0][column], CFD_COMPONENTS);
            }
        }
    }
}

static void substitute(void) {
    for (int i = cfd.last_inner - 1; i >= CFD_FIRST_INNER; i--) {
        subtract_times(line.x[i], line.upper[i], line.x[i + 1]);
    }
}

void bt_solve_lines(const struct cfd_batch *batch) {
    cfd_load_lines(batch, cfd_u, line.u);
    cfd_load_lines(batch, cfd_rhs, line.x);
    double scale = batch->axis == CFD_X ? cfd.time_step : 1.0;
    for (int i = 0; i < cfd.points; i++) {
        derive_state(line.u[i], &line.state[i]);
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            line.x[i][m] *= scale;
        }
    }
    eliminate(batch->axis);
    substitute();
    if (batch->axis == CFD_Z) {
        cfd_add_lines(batch, cfd_u, line.x);
    } else {
        cfd_store_lines(batch, cfd_rhs, line.x);
    }
}
