// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// SP's factors: along each grid line three scalar pentadiagonal systems, one for each eigenvalue of the flux.
//
// With v the velocity along the line (the normal one) and c that of sound, and with d for the change of a
// primitive variable in this step, the eigenvectors of Pulliam and Chaussee (RNR-94-007, chapter 3) give
// these characteristic variables:
//
//   travel with v       a vector: along the normal d(density) - d(pressure)/c2,
//                       across it d(velocity) x normal
//   travel with v + c   (d(pressure)/(density c) + d(velocity along the normal)) / sqrt 2
//   travel with v - c   (d(pressure)/(density c) - d(velocity along the normal)) / sqrt 2
//
// That the first three form a vector lets cfd_lines.c turn them, like velocities, into the order normal,
// tangent, binormal for any axis. So the product of one axis' eigenvectors and the next one's inverse is
// constant, and the same for both changes of axis.

#include "sp.h"

#include <math.h>

enum { FASTER, NORMAL, TANGENT, BINORMAL, SLOWER };       // characteristic variables
enum { DENSITY, MOMENTUM, ENERGY = MOMENTUM + CFD_AXES }; // conserved variables

static const double root_half = 0.70710678118654752440;

// One batch's systems. They are too large for the stacks of some threads.
static _Thread_local struct {
    cfd_point w[CFD_SIZE];       // primitive variables
    cfd_point x[CFD_SIZE];       // right-hand side, then solution
    cfd_lanes sound[CFD_SIZE];   // the speed of sound
    cfd_lanes carrier[CFD_SIZE]; // the velocity along the line, by dt/2h
    // The coefficients beside the eigenvalues: left of the diagonal, on it, and right of it.
    cfd_lanes left[CFD_SIZE], diagonal[CFD_SIZE], right[CFD_SIZE];
    // After elimination: the two coefficients right of the unit diagonal.
    cfd_lanes next[CFD_SIZE], after_next[CFD_SIZE];
} line;

// The variables of point i, from conserved to characteristic ones of the line's axis.
static void to_characteristic(int i) {
    cfd_lanes *x = line.x[i], sound = line.sound[i], volume = line.w[i][CFD_VOLUME];
    const cfd_lanes *v = &line.w[i][CFD_VELOCITY];
    cfd_lanes kinetic = 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    cfd_lanes transported = v[0] * x[MOMENTUM] + v[1] * x[MOMENTUM + 1] + v[2] * x[MOMENTUM + 2];
    // The change of pressure over the square of the speed of sound.
    cfd_lanes pressure = CFD_K2 * (kinetic * x[DENSITY] - transported + x[ENERGY]) / (sound * sound);
    cfd_lanes acoustic = volume * sound * pressure;
    cfd_lanes entropy = x[DENSITY] - pressure;
    cfd_lanes dv[CFD_AXES];
    for (int n = 0; n < CFD_AXES; n++) {
        dv[n] = volume * (x[MOMENTUM + n] - v[n] * x[DENSITY]);
    }
    x[FASTER] = root_half * (acoustic + dv[0]);
    x[SLOWER] = root_half * (acoustic - dv[0]);
    x[NORMAL] = entropy;
    x[TANGENT] = dv[2];
    x[BINORMAL] = -dv[1];
}

// The way back.
static void to_conserved(int i) {
    cfd_lanes *x = line.x[i], sound = line.sound[i], density = 1.0 / line.w[i][CFD_VOLUME];
    const cfd_lanes *v = &line.w[i][CFD_VELOCITY];
    cfd_lanes pressure = root_half * density / sound * (x[FASTER] + x[SLOWER]); // as above
    cfd_lanes change = x[NORMAL] + pressure;
    cfd_lanes dv[CFD_AXES] = {root_half * (x[FASTER] - x[SLOWER]), -x[BINORMAL], x[TANGENT]};
    cfd_lanes kinetic = 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    cfd_lanes work = v[0] * dv[0] + v[1] * dv[1] + v[2] * dv[2];
    for (int n = 0; n < CFD_AXES; n++) {
        x[MOMENTUM + n] = v[n] * change + density * dv[n];
    }
    x[DENSITY] = change;
    x[ENERGY] = kinetic * change + density * work + pressure * sound * sound / CFD_K2;
}

// From the characteristic variables of the axis before the line's to those of the line's. The normal before
// is the binormal now.
static void turn(int i) {
    cfd_lanes *x = line.x[i];
    cfd_lanes pressure = 0.5 * (x[FASTER] + x[SLOWER]);
    cfd_lanes binormal_velocity = root_half * (x[FASTER] - x[SLOWER]);
    cfd_lanes entropy = x[BINORMAL], tangent_velocity = x[NORMAL], normal_velocity = -x[TANGENT];
    x[NORMAL] = entropy;
    x[TANGENT] = binormal_velocity;
    x[BINORMAL] = -tangent_velocity;
    x[FASTER] = pressure + root_half * normal_velocity;
    x[SLOWER] = pressure - root_half * normal_velocity;
}

static void derive_speeds(void) {
    double scale = cfd.time_step / (2.0 * cfd.spacing);
    for (int i = 0; i < cfd.points; i++) {
        cfd_lanes squared = CFD_K1 * line.w[i][CFD_PRESSURE] * line.w[i][CFD_VOLUME];
        for (int lane = 0; lane < CFD_LANES; lane++) {
            line.sound[i][lane] = sqrt(squared[lane]);
        }
        line.carrier[i] = scale * line.w[i][CFD_VELOCITY];
    }
}

// Of the derivatives of the viscous terms, the implicit operator has the largest eigenvalue: conduction's.
static void derive_coefficients(enum cfd_axis axis) {
    double scale = cfd.time_step / (cfd.spacing * cfd.spacing);
    double own = scale * cfd_diffusion[axis], conduction = scale * CFD_CONDUCTION;
    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
        const double *weight = cfd_dissipation[i].weight;
        line.left[i] =
            cfd.time_step * weight[1] - own - conduction * line.w[i - 1][CFD_VOLUME] - line.carrier[i - 1];
        line.diagonal[i] = cfd.time_step * weight[2] + 1.0 + 2.0 * (own + conduction * line.w[i][CFD_VOLUME]);
        line.right[i] =
            cfd.time_step * weight[3] - own - conduction * line.w[i + 1][CFD_VOLUME] + line.carrier[i + 1];
    }
}

// Solves the `count` systems from component `first` on, which have the eigenvalue v + direction * c. What
// would multiply the boundary or points beyond is left out: the solution does not change there.
__attribute__((always_inline)) static inline void solve_systems(double direction, int first, int count) {
    double sonic = direction * cfd.time_step / (2.0 * cfd.spacing);
    // Of the two rows before: the coefficients right of the diagonal, and the right-hand sides.
    cfd_lanes next1 = {0}, after1 = {0}, next2 = {0}, after2 = {0};
    cfd_lanes x1[CFD_AXES] = {{0}}, x2[CFD_AXES] = {{0}};
    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
        double far_left = cfd.time_step * cfd_dissipation[i].weight[0];
        double far_right = cfd.time_step * cfd_dissipation[i].weight[4];
        cfd_lanes left = line.left[i] - sonic * line.sound[i - 1] - far_left * next2;
        cfd_lanes inverse = 1.0 / (line.diagonal[i] - far_left * after2 - left * next1);
        next2 = next1;
        next1 = (line.right[i] + sonic * line.sound[i + 1] - left * after1) * inverse;
        after2 = after1;
        after1 = far_right * inverse;
        line.next[i] = next1;
        line.after_next[i] = after1;
        CFD_UNROLL
        for (int m = 0; m < count; m++) {
            cfd_lanes x = (line.x[i][first + m] - left * x1[m] - far_left * x2[m]) * inverse;
            x2[m] = x1[m];
            x1[m] = x;
            line.x[i][first + m] = x;
        }
    }
    CFD_UNROLL
    for (int m = 0; m < count; m++) {
        x1[m] = x2[m] = (cfd_lanes){0};
    }
    for (int i = cfd.last_inner; i >= CFD_FIRST_INNER; i--) {
        CFD_UNROLL
        for (int m = 0; m < count; m++) {
            cfd_lanes x = line.x[i][first + m] - line.next[i] * x1[m] - line.after_next[i] * x2[m];
            x2[m] = x1[m];
            x1[m] = x;
            line.x[i][first + m] = x;
        }
    }
}

void sp_solve_lines(const struct cfd_batch *batch) {
    cfd_load_lines(batch, cfd_primitive, line.w);
    cfd_load_lines(batch, cfd_rhs, line.x);
    derive_speeds();
    derive_coefficients(batch->axis);
    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
        if (batch->axis == CFD_X) {
            for (int m = 0; m < CFD_COMPONENTS; m++) {
                line.x[i][m] *= cfd.time_step;
            }
            to_characteristic(i);
        } else {
            turn(i);
        }
    }
    solve_systems(0.0, NORMAL, CFD_AXES);
    solve_systems(1.0, FASTER, 1);
    solve_systems(-1.0, SLOWER, 1);
    if (batch->axis == CFD_Z) {
        for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
            to_conserved(i);
        }
        cfd_add_lines(batch, cfd_u, line.x);
    } else {
        cfd_store_lines(batch, cfd_rhs, line.x);
    }
}
