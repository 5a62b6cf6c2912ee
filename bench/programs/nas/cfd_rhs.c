// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The right-hand side of BT, SP and LU: the forcing and the explicit differences of the current solution.
//
// With central differences, per axis (the report's discretised operators, chapter 3):
//
//   - d(flux)/dx  +  d(viscous terms)/dx  +  diffusion * d2u/dx2  -  dissipation * (fourth difference of u)
//
// The viscous terms of the energy equation are written with the squares of the velocities, as in the report,
// so that every one of them is a second difference of a function of a single point.

#include "cfd.h"

// The rows that a three-point stencil reads. Along x they are one and the same row, read with a shift.
struct neighbours {
    const double (*lower_u)[CFD_ROW], (*here_u)[CFD_ROW], (*upper_u)[CFD_ROW];
    const double (*lower_w)[CFD_ROW], (*here_w)[CFD_ROW], (*upper_w)[CFD_ROW];
    int shift;
};

static void compute_primitives(const double (*u)[CFD_ROW], double (*restrict w)[CFD_ROW]) {
#pragma omp simd
    for (int i = 0; i < CFD_ROW; i++) {
        double volume = 1.0 / u[CFD_DENSITY][i];
        double mx = u[CFD_MOMENTUM + CFD_X][i], my = u[CFD_MOMENTUM + CFD_Y][i],
               mz = u[CFD_MOMENTUM + CFD_Z][i];
        w[CFD_VOLUME][i] = volume;
        w[CFD_VELOCITY + CFD_X][i] = volume * mx;
        w[CFD_VELOCITY + CFD_Y][i] = volume * my;
        w[CFD_VELOCITY + CFD_Z][i] = volume * mz;
        w[CFD_PRESSURE][i] = CFD_K2 * (u[CFD_ENERGY][i] - 0.5 * volume * (mx * mx + my * my + mz * mz));
    }
}

static inline double second_difference(double lower, double here, double upper) {
    return lower - 2.0 * here + upper;
}

static inline double square(double value) { return value * value; }

static inline double speed_squared(const double (*w)[CFD_ROW], int i) {
    return square(w[CFD_VELOCITY + CFD_X][i]) + square(w[CFD_VELOCITY + CFD_Y][i]) +
           square(w[CFD_VELOCITY + CFD_Z][i]);
}

// Conservation of mass: the flux is the momentum along the axis.
static inline void add_density(double (*restrict rhs)[CFD_ROW], const struct neighbours *at,
                               enum cfd_axis axis) {
    const double *lower = at->lower_u[CFD_DENSITY], *here = at->here_u[CFD_DENSITY];
    const double *upper = at->upper_u[CFD_DENSITY];
    const double *lower_flux = at->lower_u[CFD_MOMENTUM + axis],
                 *upper_flux = at->upper_u[CFD_MOMENTUM + axis];
    double *restrict out = rhs[CFD_DENSITY];
    double central = 0.5 / cfd.spacing;
    double diffusion = cfd_diffusion[axis] / square(cfd.spacing);
    int shift = at->shift, last = cfd.last_inner;
#pragma omp simd
    for (int i = CFD_FIRST_INNER; i <= last; i++) {
        out[i] += diffusion * second_difference(lower[i - shift], here[i], upper[i + shift]) -
                  central * (upper_flux[i + shift] - lower_flux[i - shift]);
    }
}

// Conservation of the momentum `m`: it is carried by the velocity along the axis; the momentum along that
// axis feels the pressure too, and a viscosity larger by a third.
static inline void add_momentum(double (*restrict rhs)[CFD_ROW], const struct neighbours *at,
                                enum cfd_axis axis, enum cfd_axis m) {
    const double *lower = at->lower_u[CFD_MOMENTUM + m], *here = at->here_u[CFD_MOMENTUM + m];
    const double *upper = at->upper_u[CFD_MOMENTUM + m];
    const double *lower_velocity = at->lower_w[CFD_VELOCITY + m],
                 *here_velocity = at->here_w[CFD_VELOCITY + m];
    const double *upper_velocity = at->upper_w[CFD_VELOCITY + m];
    const double *lower_carrier = at->lower_w[CFD_VELOCITY + axis],
                 *upper_carrier = at->upper_w[CFD_VELOCITY + axis];
    const double *lower_pressure = at->lower_w[CFD_PRESSURE], *upper_pressure = at->upper_w[CFD_PRESSURE];
    double *restrict out = rhs[CFD_MOMENTUM + m];
    double central = 0.5 / cfd.spacing;
    double central_pressure = m == axis ? central : 0.0;
    double diffusion = cfd_diffusion[axis] / square(cfd.spacing);
    double viscosity = (m == axis ? CFD_NORMAL_VISCOSITY : CFD_VISCOSITY) / square(cfd.spacing);
    int shift = at->shift, last = cfd.last_inner;
#pragma omp simd
    for (int i = CFD_FIRST_INNER; i <= last; i++) {
        int below = i - shift, above = i + shift;
        out[i] +=
            diffusion * second_difference(lower[below], here[i], upper[above]) +
            viscosity * second_difference(lower_velocity[below], here_velocity[i], upper_velocity[above]) -
            central * (upper[above] * upper_carrier[above] - lower[below] * lower_carrier[below]) -
            central_pressure * (upper_pressure[above] - lower_pressure[below]);
    }
}

// Conservation of energy: convection of enthalpy, the work of the viscous stresses, and conduction of heat.
static inline void add_energy(double (*restrict rhs)[CFD_ROW], const struct neighbours *at,
                              enum cfd_axis axis) {
    const double *lower = at->lower_u[CFD_ENERGY], *here = at->here_u[CFD_ENERGY];
    const double *upper = at->upper_u[CFD_ENERGY];
    const double *lower_pressure = at->lower_w[CFD_PRESSURE], *upper_pressure = at->upper_w[CFD_PRESSURE];
    const double *lower_normal = at->lower_w[CFD_VELOCITY + axis],
                 *here_normal = at->here_w[CFD_VELOCITY + axis];
    const double *upper_normal = at->upper_w[CFD_VELOCITY + axis];
    const double *lower_volume = at->lower_w[CFD_VOLUME], *here_volume = at->here_w[CFD_VOLUME];
    const double *upper_volume = at->upper_w[CFD_VOLUME];
    const double(*lower_w)[CFD_ROW] = at->lower_w, (*here_w)[CFD_ROW] = at->here_w,
          (*upper_w)[CFD_ROW] = at->upper_w;
    double *restrict out = rhs[CFD_ENERGY];
    double scale = 1.0 / square(cfd.spacing);
    double central = 0.5 / cfd.spacing;
    double diffusion = cfd_diffusion[axis] * scale;
    double work = 0.5 * (CFD_VISCOSITY - CFD_CONDUCTION) * scale;
    double normal_work = 0.5 * (CFD_NORMAL_VISCOSITY - CFD_VISCOSITY) * scale;
    double conduction = CFD_CONDUCTION * scale;
    int shift = at->shift, last = cfd.last_inner;
#pragma omp simd
    for (int i = CFD_FIRST_INNER; i <= last; i++) {
        int below = i - shift, above = i + shift;
        double diffused = second_difference(lower[below], here[i], upper[above]);
        double speeds = second_difference(speed_squared(lower_w, below), speed_squared(here_w, i),
                                          speed_squared(upper_w, above));
        double normals = second_difference(square(lower_normal[below]), square(here_normal[i]),
                                           square(upper_normal[above]));
        double specific = second_difference(lower[below] * lower_volume[below], here[i] * here_volume[i],
                                            upper[above] * upper_volume[above]);
        double convected = (upper[above] + upper_pressure[above]) * upper_normal[above] -
                           (lower[below] + lower_pressure[below]) * lower_normal[below];
        out[i] += diffusion * diffused + work * speeds + normal_work * normals + conduction * specific -
                  central * convected;
    }
}

static void add_axis(double (*restrict rhs)[CFD_ROW], enum cfd_axis axis, int k, int j) {
    int y = axis == CFD_Y, z = axis == CFD_Z;
    const struct neighbours at = {
        .lower_u = cfd_u[k - z][j - y],
        .here_u = cfd_u[k][j],
        .upper_u = cfd_u[k + z][j + y],
        .lower_w = cfd_primitive[k - z][j - y],
        .here_w = cfd_primitive[k][j],
        .upper_w = cfd_primitive[k + z][j + y],
        .shift = axis == CFD_X,
    };
    add_density(rhs, &at, axis);
    for (int m = 0; m < CFD_AXES; m++) {
        add_momentum(rhs, &at, axis, (enum cfd_axis)m);
    }
    add_energy(rhs, &at, axis);
}

// The fourth difference, one-sided at the two points next to either boundary (the report's boundary
// treatment).
static struct cfd_stencil dissipation_at(int position) {
    struct cfd_stencil stencil = {{1.0, -4.0, 6.0, -4.0, 1.0}, {-2, -1, 0, 1, 2}};
    int from_end = cfd.points - 1 - position;
    if (position <= 2) {
        stencil.weight[0] = 0.0;
    }
    if (position == 1) {
        stencil.weight[1] = 0.0;
        stencil.weight[2] = 5.0;
    }
    if (from_end <= 2) {
        stencil.weight[4] = 0.0;
    }
    if (from_end == 1) {
        stencil.weight[3] = 0.0;
        stencil.weight[2] = 5.0;
    }
    for (int n = 0; n < CFD_FIVE; n++) {
        stencil.weight[n] *= CFD_DISSIPATION;
        stencil.offset[n] = stencil.weight[n] != 0.0 ? stencil.offset[n] : 0;
    }
    return stencil;
}

void cfd_set_up_dissipation(void) {
    for (int position = CFD_FIRST_INNER; position <= cfd.last_inner; position++) {
        cfd_dissipation[position] = dissipation_at(position);
    }
}

static void subtract(double *restrict out, const double weight[CFD_FIVE], const double *const in[CFD_FIVE],
                     int first, int last) {
    const double *a = in[0], *b = in[1], *c = in[2], *d = in[3], *e = in[4];
    double wa = weight[0], wb = weight[1], wc = weight[2], wd = weight[3], we = weight[4];
#pragma omp simd
    for (int i = first; i <= last; i++) {
        out[i] -= wa * a[i] + wb * b[i] + wc * c[i] + wd * d[i] + we * e[i];
    }
}

// Along x the points next to the boundary are in the same row as the others.
static void dissipate_x(double (*restrict rhs)[CFD_ROW], int k, int j) {
    for (int first = CFD_FIRST_INNER; first <= cfd.last_inner;) {
        bool regular = first > 2 && first < cfd.last_inner - 1;
        int last = regular ? cfd.last_inner - 2 : first;
        const struct cfd_stencil *stencil = &cfd_dissipation[first];
        for (int m = 0; m < CFD_COMPONENTS; m++) {
            const double *in[CFD_FIVE];
            for (int n = 0; n < CFD_FIVE; n++) {
                in[n] = cfd_u[k][j][m] + first + stencil->offset[n];
            }
            subtract(rhs[m] + first, stencil->weight, in, 0, last - first);
        }
        first = last + 1;
    }
}

static void dissipate_across(double (*restrict rhs)[CFD_ROW], enum cfd_axis axis, int k, int j) {
    const struct cfd_stencil *stencil = &cfd_dissipation[axis == CFD_Y ? j : k];
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        const double *in[CFD_FIVE];
        for (int n = 0; n < CFD_FIVE; n++) {
            in[n] = axis == CFD_Y ? cfd_u[k][j + stencil->offset[n]][m] : cfd_u[k + stencil->offset[n]][j][m];
        }
        subtract(rhs[m], stencil->weight, in, CFD_FIRST_INNER, cfd.last_inner);
    }
}

static void copy_forcing(double (*restrict rhs)[CFD_ROW], int k, int j) {
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
            rhs[m][i] = cfd_forcing[k][j][m][i];
        }
    }
}

void cfd_compute_rhs(void) {
#pragma omp for schedule(static)
    for (int k = 0; k < cfd.points; k++) {
        for (int j = 0; j < cfd.points; j++) {
            compute_primitives(cfd_u[k][j], cfd_primitive[k][j]);
        }
    }
#pragma omp for schedule(static)
    for (int k = CFD_FIRST_INNER; k <= cfd.last_inner; k++) {
        for (int j = CFD_FIRST_INNER; j <= cfd.last_inner; j++) {
            copy_forcing(cfd_rhs[k][j], k, j);
            add_axis(cfd_rhs[k][j], CFD_X, k, j);
            add_axis(cfd_rhs[k][j], CFD_Y, k, j);
            add_axis(cfd_rhs[k][j], CFD_Z, k, j);
            dissipate_x(cfd_rhs[k][j], k, j);
            dissipate_across(cfd_rhs[k][j], CFD_Y, k, j);
            dissipate_across(cfd_rhs[k][j], CFD_Z, k, j);
        }
    }
}
