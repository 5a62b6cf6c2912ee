// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// How BT, SP and LU are run: set up, time the steps, verify, report.

#include "cfd.h"
#include "nas.h"

#include <math.h>

static const double tolerance = 1e-8; // relative; the report asks for it

static void run_steps(const struct cfd_program *program, int steps) {
#pragma omp parallel
    for (int step = 0; step < steps; step++) {
        program->advance();
    }
}

static bool is_verified(const char *what, double value, double published) {
    double error = fabs((value - published) / published);
    bool close = error <= tolerance; // false for a NaN too
    printf("  %-20s %22.15e  published %22.15e  relative error %.1e%s\n", what, value, published, error,
           close ? "" : "  WRONG");
    return close;
}

static bool verify(const struct cfd_program *program, const struct cfd_case *problem) {
    double residual[CFD_COMPONENTS], error[CFD_COMPONENTS];
    cfd_residual_norms(residual);
    cfd_error_norms(error);
    bool verified = true;
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        verified &= is_verified("residual norm", residual[m], problem->residual[m]);
    }
    for (int m = 0; m < CFD_COMPONENTS; m++) {
        verified &= is_verified("error norm", error[m], problem->error[m]);
    }
    if (program->has_surface_integral) {
        verified &= is_verified("surface integral", cfd_surface_integral(), problem->surface_integral);
    }
    return verified;
}

int cfd_main(const struct cfd_program *program) {
    const struct cfd_case *problem = &program->cases[CFD_CLASS];
    char size[80];
    omp_set_dynamic(0); // one team throughout: LU's pipeline counts on it
    snprintf(size, sizeof size, "%d x %d x %d points, %d steps of %g", problem->points, problem->points,
             problem->points, problem->steps, problem->time_step);
    nas_print_title(program->name, size);

    // The clock runs for the time steps alone. An extra step before them brings code and data in.
    cfd_set_up(problem);
    run_steps(program, 1);
    cfd_initialize();
    nas_start_clock();
    run_steps(program, problem->steps);
    double seconds = nas_stop_clock();

    if (!verify(program, problem)) {
        nas_fail("%s: the result does not verify", program->name);
    }
    nas_report(program->name, seconds);
    return 0;
}
