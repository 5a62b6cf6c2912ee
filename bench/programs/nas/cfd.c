// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The problem of BT, SP and LU: exact solution, initial values, forcing, and the norms that verify a result.

#include "cfd.h"

#include <math.h>
#include <string.h>

struct cfd_grid cfd;
struct cfd_stencil cfd_dissipation[CFD_SIZE];

_Alignas(CFD_ALIGNMENT) cfd_field cfd_u;
_Alignas(CFD_ALIGNMENT) cfd_field cfd_rhs;
_Alignas(CFD_ALIGNMENT) cfd_field cfd_forcing;
_Alignas(CFD_ALIGNMENT) cfd_field cfd_primitive;

// The report's table of C(m,n): the exact solution is a quartic in each coordinate without mixed terms. Of
// each component: the constant, then the coefficients of x, y, z, of their squares, cubes and fourth powers.
enum { POWERS = 4 };
static const struct {
    double constant;
    double factor[POWERS][CFD_AXES];
} exact_table[CFD_COMPONENTS] = {
    {2.0, {{0.0, 0.0, 4.0}, {5.0, 3.0, 0.5}, {0.02, 0.01, 0.03}, {0.5, 0.4, 0.3}}},
    {1.0, {{0.0, 0.0, 0.0}, {1.0, 2.0, 3.0}, {0.01, 0.03, 0.02}, {0.4, 0.3, 0.5}}},
    {2.0, {{2.0, 0.0, 0.0}, {0.0, 2.0, 3.0}, {0.04, 0.03, 0.05}, {0.3, 0.5, 0.4}}},
    {2.0, {{2.0, 0.0, 0.0}, {0.0, 2.0, 3.0}, {0.03, 0.05, 0.04}, {0.2, 0.1, 0.3}}},
    {5.0, {{4.0, 3.0, 2.0}, {0.1, 0.4, 0.3}, {0.05, 0.04, 0.03}, {0.1, 0.3, 0.2}}},
};

static double exact(int component, const double at[CFD_AXES]) {
    double value = exact_table[component].constant;
    for (int axis = 0; axis < CFD_AXES; axis++) {
        double term = 0.0;
        for (int power = POWERS - 1; power >= 0; power--) {
            term = at[axis] * (exact_table[component].factor[power][axis] + term);
        }
        value += term;
    }
    return value;
}

// The coordinate of a point, in [0, 1]; that of the padding behind a row's end is the boundary's. The padding
// holds values of the boundary so that vectors that reach into it compute something finite.
static double coordinate(int index) { return index < cfd.points - 1 ? (double)index * cfd.spacing : 1.0; }

static bool is_inner(int index) { return index >= CFD_FIRST_INNER && index <= cfd.last_inner; }

// Transfinite interpolation of the exact solution from the six faces (the report's initial values): the
// Boolean sum of the three linear interpolations between opposite faces.
static double interpolated(int component, const double at[CFD_AXES]) {
    double between[CFD_AXES];
    for (int axis = 0; axis < CFD_AXES; axis++) {
        double low[CFD_AXES], high[CFD_AXES];
        memcpy(low, at, sizeof low);
        memcpy(high, at, sizeof high);
        low[axis] = 0.0;
        high[axis] = 1.0;
        between[axis] = (1.0 - at[axis]) * exact(component, low) + at[axis] * exact(component, high);
    }
    double x = between[CFD_X], y = between[CFD_Y], z = between[CFD_Z];
    return x + y + z - x * y - y * z - z * x + x * y * z;
}

static double exact_everywhere(int component, const double at[CFD_AXES], bool inner) {
    (void)inner;
    return exact(component, at);
}

// The boundary keeps the exact solution for ever.
static double initial(int component, const double at[CFD_AXES], bool inner) {
    return inner ? interpolated(component, at) : exact(component, at);
}

static void fill_solution(double (*value)(int component, const double at[CFD_AXES], bool inner)) {
#pragma omp parallel for schedule(static)
    for (int k = 0; k < cfd.points; k++) {
        for (int j = 0; j < cfd.points; j++) {
            for (int i = 0; i < CFD_ROW; i++) {
                const double at[CFD_AXES] = {coordinate(i), coordinate(j), coordinate(k)};
                bool inner = is_inner(i) && is_inner(j) && is_inner(k);
                for (int m = 0; m < CFD_COMPONENTS; m++) {
                    cfd_u[k][j][m][i] = value(m, at, inner);
                }
            }
        }
    }
}

// The forcing is what balances the discrete operator for the exact solution. cfd_rhs has that operator's
// value when the forcing is still zero.
static void compute_forcing(void) {
    fill_solution(exact_everywhere);
#pragma omp parallel
    {
        cfd_compute_rhs();
#pragma omp for schedule(static)
        for (int k = CFD_FIRST_INNER; k <= cfd.last_inner; k++) {
            for (int j = CFD_FIRST_INNER; j <= cfd.last_inner; j++) {
                for (int m = 0; m < CFD_COMPONENTS; m++) {
                    for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
                        cfd_forcing[k][j][m][i] = -cfd_rhs[k][j][m][i];
                    }
                }
            }
        }
    }
}

void cfd_set_up(const struct cfd_case *problem) {
    cfd = (struct cfd_grid){
        .points = problem->points,
        .last_inner = problem->points - 2,
        .spacing = 1.0 / (double)(problem->points - 1),
        .time_step = problem->time_step,
    };
    cfd_set_up_dissipation();
    compute_forcing();
    cfd_initialize();
}

void cfd_initialize(void) { fill_solution(initial); }

// The report's RMS norm divides by the number of inner points.
static double root_mean(double sum) {
    double edge = (double)(cfd.points - 2);
    return sqrt(sum / (edge * edge * edge));
}

void cfd_residual_norms(double norms[CFD_COMPONENTS]) {
#pragma omp parallel
    cfd_compute_rhs();
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int k = CFD_FIRST_INNER; k <= cfd.last_inner; k++) {
            for (int j = CFD_FIRST_INNER; j <= cfd.last_inner; j++) {
                for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
                    sum += cfd_rhs[k][j][m][i] * cfd_rhs[k][j][m][i];
                }
            }
        }
        norms[m] = root_mean(sum);
    }
}

void cfd_error_norms(double norms[CFD_COMPONENTS]) {
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
        for (int k = CFD_FIRST_INNER; k <= cfd.last_inner; k++) {
            for (int j = CFD_FIRST_INNER; j <= cfd.last_inner; j++) {
                for (int i = CFD_FIRST_INNER; i <= cfd.last_inner; i++) {
                    const double at[CFD_AXES] = {coordinate(i), coordinate(j), coordinate(k)};
                    double error = cfd_u[k][j][m][i] - exact(m, at);
                    sum += error * error;
                }
            }
        }
        norms[m] = root_mean(sum);
    }
}

static double pressure(int k, int j, int i) {
    double density = cfd_u[k][j][CFD_DENSITY][i];
    double square = 0.0;
    for (int axis = 0; axis < CFD_AXES; axis++) {
        double momentum = cfd_u[k][j][CFD_MOMENTUM + axis][i];
        square += momentum * momentum;
    }
    return CFD_K2 * (cfd_u[k][j][CFD_ENERGY][i] - 0.5 * square / density);
}

static double pressure_at(const int at[CFD_AXES]) { return pressure(at[CFD_Z], at[CFD_Y], at[CFD_X]); }

// The integral of the pressure over the box's two faces across `axis`, by the trapezoidal rule.
static double integral_across(enum cfd_axis axis, const int low[CFD_AXES], const int high[CFD_AXES]) {
    enum cfd_axis first = (axis + 1) % CFD_AXES;
    enum cfd_axis second = (axis + 2) % CFD_AXES;
    double sum = 0.0;
    for (int face = 0; face < 2; face++) {
        int at[CFD_AXES];
        at[axis] = face == 0 ? low[axis] : high[axis];
        for (at[second] = low[second]; at[second] <= high[second]; at[second]++) {
            double across = at[second] == low[second] || at[second] == high[second] ? 0.5 : 1.0;
            for (at[first] = low[first]; at[first] <= high[first]; at[first]++) {
                double along = at[first] == low[first] || at[first] == high[first] ? 0.5 : 1.0;
                sum += across * along * pressure_at(at);
            }
        }
    }
    return sum * cfd.spacing * cfd.spacing;
}

// LU's third value to verify: the pressure over the surface of a box inside the grid, whose corners the
// report gives (its indices count from 1).
double cfd_surface_integral(void) {
    const int low[CFD_AXES] = {1, 1, 2};
    const int high[CFD_AXES] = {cfd.points - 2, cfd.points - 3, cfd.points - 2};
    double sum = 0.0;
    for (int axis = 0; axis < CFD_AXES; axis++) {
        sum += integral_across((enum cfd_axis)axis, low, high);
    }
    return sum;
}
