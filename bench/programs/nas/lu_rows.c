// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// LU's two triangular solves, for one row of points along x.
//
// A point needs the new values of its three neighbours of one side. Of a row, the parts of the neighbouring
// rows are computed first, as vectors; what is left is a recurrence along the row.
//
// The blocks (RNR-94-007, chapter 3, the Jacobians of LU) are never stored: a block times a vector is the
// change of the flux and of the viscous terms by a small change of u, and takes fewer operations than the
// block itself. The diagonal block turns out to be triangular. What belongs to u comes from the primitive
// variables, which stay as they are while the upper sweep adds to u.

#include "lu.h"

// Five values at a point; vectors are in the order normal, tangent, binormal of an axis.
struct five {
    double density, normal, tangent, binormal, energy;
};

// The primitive variables at a point, with velocities in that order.
struct state {
    double volume, normal, tangent, binormal, pressure;
};

// Rows of five values, in that order.
struct in_rows {
    const double *density, *normal, *tangent, *binormal, *energy;
};

// The scales of a block beside the diagonal.
struct scales {
    double convection; // of the derivative of the flux
    double viscosity;  // of the derivatives of the viscous terms
    double diffusion;
};

// The coefficients of the diagonal block: of the unknown itself, and of changes of velocity and of specific
// energy.
struct diagonal {
    double own, velocity, conduction;
};

static struct in_rows rows_along(const double (*rows)[CFD_ROW], enum cfd_axis axis) {
    return (struct in_rows){
        .density = rows[CFD_DENSITY],
        .normal = rows[CFD_MOMENTUM + axis],
        .tangent = rows[CFD_MOMENTUM + (axis + 1) % CFD_AXES],
        .binormal = rows[CFD_MOMENTUM + (axis + 2) % CFD_AXES],
        .energy = rows[CFD_ENERGY],
    };
}

static inline struct five load(const struct in_rows *rows, int i) {
    return (struct five){rows->density[i], rows->normal[i], rows->tangent[i], rows->binormal[i],
                         rows->energy[i]};
}

static inline struct state load_state(const struct in_rows *rows, int i) {
    return (struct state){rows->density[i], rows->normal[i], rows->tangent[i], rows->binormal[i],
                          rows->energy[i]};
}

static struct scales scales_of(enum cfd_axis axis, double direction) {
    double h = cfd.spacing, step = LU_RELAXATION * cfd.time_step;
    return (struct scales){
        .convection = direction * step / (2.0 * h),
        .viscosity = -step / (h * h),
        .diffusion = -step / (h * h) * cfd_diffusion[axis],
    };
}

static struct diagonal diagonal_of_grid(void) {
    double scale = 2.0 * cfd.time_step / (cfd.spacing * cfd.spacing);
    return (struct diagonal){
        .own = 1.0 + scale * (cfd_diffusion[CFD_X] + cfd_diffusion[CFD_Y] + cfd_diffusion[CFD_Z]),
        .velocity = scale * (CFD_NORMAL_VISCOSITY + 2.0 * CFD_VISCOSITY),
        .conduction = scale * 3.0 * CFD_CONDUCTION,
    };
}

// Half the square of the velocity.
static inline double kinetic_energy(const struct state *at) {
    return 0.5 * (at->normal * at->normal + at->tangent * at->tangent + at->binormal * at->binormal);
}

// The block of the point `at`, beside the diagonal, times the vector `d`: a change of the conserved
// variables.
static inline struct five block_times(const struct scales *scales, const struct state *at,
                                      const struct five *d) {
    double kinetic = kinetic_energy(at);
    double heat = at->pressure * at->volume; // k2 times the internal energy
    double energy = heat / CFD_K2 + kinetic;
    double enthalpy = energy + heat;
    // Density times the changes of velocity, and the change of pressure.
    double normal = d->normal - at->normal * d->density;
    double tangent = d->tangent - at->tangent * d->density;
    double binormal = d->binormal - at->binormal * d->density;
    double pressure = CFD_K2 * (d->energy - kinetic * d->density - at->normal * normal -
                                at->tangent * tangent - at->binormal * binormal);
    double work = (CFD_NORMAL_VISCOSITY - CFD_CONDUCTION) * at->normal * normal +
                  (CFD_VISCOSITY - CFD_CONDUCTION) * (at->tangent * tangent + at->binormal * binormal);
    double heating = CFD_CONDUCTION * (d->energy - energy * d->density);
    double convection = scales->convection, diffusion = scales->diffusion;
    double viscosity = scales->viscosity * at->volume;
    double carrier = convection * at->normal;
    double flow = convection * d->normal;
    return (struct five){
        .density = flow + diffusion * d->density,
        .normal = flow * at->normal + carrier * normal + convection * pressure +
                  viscosity * CFD_NORMAL_VISCOSITY * normal + diffusion * d->normal,
        .tangent = flow * at->tangent + carrier * tangent + viscosity * CFD_VISCOSITY * tangent +
                   diffusion * d->tangent,
        .binormal = flow * at->binormal + carrier * binormal + viscosity * CFD_VISCOSITY * binormal +
                    diffusion * d->binormal,
        .energy = convection * enthalpy * normal + carrier * (d->energy + pressure) +
                  viscosity * (work + heating) + diffusion * d->energy,
    };
}

// Solves with the diagonal block of the point `at`. Its upper triangle is empty.
static inline struct five solve_diagonal(const struct diagonal *diagonal, const struct state *at,
                                         const struct five *right) {
    double velocity = diagonal->velocity * at->volume, conduction = diagonal->conduction * at->volume;
    double energy = at->pressure * at->volume / CFD_K2 + kinetic_energy(at);
    double density = right->density * (1.0 / diagonal->own);
    double by_momentum = 1.0 / (diagonal->own + velocity), by_energy = 1.0 / (diagonal->own + conduction);
    double share = velocity * density;
    struct five x = {
        .density = density,
        .normal = (right->normal + share * at->normal) * by_momentum,
        .tangent = (right->tangent + share * at->tangent) * by_momentum,
        .binormal = (right->binormal + share * at->binormal) * by_momentum,
    };
    double work = at->normal * (x.normal - at->normal * density) +
                  at->tangent * (x.tangent - at->tangent * density) +
                  at->binormal * (x.binormal - at->binormal * density);
    x.energy = (right->energy + conduction * energy * density - (velocity - conduction) * work) * by_energy;
    return x;
}

// sum += the blocks of a neighbouring row times its values
static void add_row(double (*restrict sum)[CFD_ROW], enum cfd_axis axis, double direction, int k, int j) {
    const struct scales scales = scales_of(axis, direction);
    const struct in_rows w = rows_along(cfd_primitive[k][j], axis), d = rows_along(cfd_rhs[k][j], axis);
    double *restrict density = sum[CFD_DENSITY], *restrict energy = sum[CFD_ENERGY];
    double *restrict normal = sum[CFD_MOMENTUM + axis];
    double *restrict tangent = sum[CFD_MOMENTUM + (axis + 1) % CFD_AXES];
    double *restrict binormal = sum[CFD_MOMENTUM + (axis + 2) % CFD_AXES];
    int last = cfd.last_inner;
#pragma omp simd
    for (int i = CFD_FIRST_INNER; i <= last; i++) {
        struct state at = load_state(&w, i);
        struct five change = load(&d, i);
        struct five product = block_times(&scales, &at, &change);
        density[i] += product.density;
        normal[i] += product.normal;
        tangent[i] += product.tangent;
        binormal[i] += product.binormal;
        energy[i] += product.energy;
    }
}

static inline void store(double (*rows)[CFD_ROW], int i, const struct five *value) {
    rows[CFD_DENSITY][i] = value->density;
    rows[CFD_MOMENTUM + CFD_X][i] = value->normal;
    rows[CFD_MOMENTUM + CFD_Y][i] = value->tangent;
    rows[CFD_MOMENTUM + CFD_Z][i] = value->binormal;
    rows[CFD_ENERGY][i] = value->energy;
}

static inline struct five combined(double p, const struct five *a, double q, const struct five *b) {
    return (struct five){p * a->density + q * b->density, p * a->normal + q * b->normal,
                         p * a->tangent + q * b->tangent, p * a->binormal + q * b->binormal,
                         p * a->energy + q * b->energy};
}

// x(i) = D^-1 (dt rhs(i) - sum(i) - omega L(i-1) x(i-1)), where the sum stands for the other neighbours
void lu_lower_row(int k, int j) {
    double sum[CFD_COMPONENTS][CFD_ROW] = {{0}};
    add_row(sum, CFD_Z, -1.0, k - 1, j);
    add_row(sum, CFD_Y, -1.0, k, j - 1);
    const struct scales scales = scales_of(CFD_X, -1.0);
    const struct diagonal diagonal = diagonal_of_grid();
    const struct in_rows w = rows_along(cfd_primitive[k][j], CFD_X), rhs = rows_along(cfd_rhs[k][j], CFD_X);
    const struct in_rows others = rows_along(sum, CFD_X);
    double time_step = cfd.time_step;
    struct state before = load_state(&w, 0);
    struct five x = {0};
    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
        struct state at = load_state(&w, i);
        struct five neighbours = load(&others, i), value = load(&rhs, i);
        struct five right = combined(time_step, &value, -1.0, &neighbours);
        struct five product = block_times(&scales, &before, &x);
        right = combined(1.0, &right, -1.0, &product);
        x = solve_diagonal(&diagonal, &at, &right);
        store(cfd_rhs[k][j], i, &x);
        before = at;
    }
}

static void add_correction(int k, int j) {
    double factor = 1.0 / (LU_RELAXATION * (2.0 - LU_RELAXATION));
    int last = cfd.last_inner;
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        double *restrict u = cfd_u[k][j][m];
        const double *correction = cfd_rhs[k][j][m];
#pragma omp simd
        for (int i = CFD_FIRST_INNER; i <= last; i++) {
            u[i] += factor * correction[i];
        }
    }
}

// x(i) -= D^-1 (sum(i) + omega U(i+1) x(i+1))
void lu_upper_row(int k, int j) {
    double sum[CFD_COMPONENTS][CFD_ROW] = {{0}};
    add_row(sum, CFD_Z, 1.0, k + 1, j);
    add_row(sum, CFD_Y, 1.0, k, j + 1);
    const struct scales scales = scales_of(CFD_X, 1.0);
    const struct diagonal diagonal = diagonal_of_grid();
    const struct in_rows w = rows_along(cfd_primitive[k][j], CFD_X),
                         values = rows_along(cfd_rhs[k][j], CFD_X);
    const struct in_rows others = rows_along(sum, CFD_X);
    struct state after = load_state(&w, cfd.last_inner + 1);
    struct five x = {0};
    for (int i = cfd.last_inner; i >= CFD_FIRST_INNER; i--) {
        struct state at = load_state(&w, i);
        struct five neighbours = load(&others, i), value = load(&values, i);
        struct five product = block_times(&scales, &after, &x);
        struct five right = combined(1.0, &neighbours, 1.0, &product);
        struct five change = solve_diagonal(&diagonal, &at, &right);
        x = combined(1.0, &value, -1.0, &change);
        store(cfd_rhs[k][j], i, &x);
        after = at;
    }
    add_correction(k, j);
}
