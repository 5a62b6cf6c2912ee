// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// SP: the approximately factored implicit scheme, whose factors are diagonalised to scalar pentadiagonal
// systems.
//
//   Tx (I - dt Lx) Tx^-1  Ty (I - dt Ly) Ty^-1  Tz (I - dt Lz) Tz^-1  du = dt rhs        u += du
//
// Tx are the eigenvectors of the flux along x, Lx the derivatives with the flux replaced by its eigenvalues
// and with the fourth-order dissipation (RNR-94-007, chapter 3, the diagonal form). See sp_solve.c.

#include "sp.h"

static void advance(void) {
    cfd_compute_rhs();
    cfd_solve_axes(sp_solve_lines);
}

// clang-format off
static const struct cfd_program sp = {
    .name = "sp",
    .advance = advance,
    .cases = {
        [CFD_CLASS_S] = {
            .points = 12, .steps = 100, .time_step = 0.015,
            .residual = {2.7470315451339479e-02, 1.0360746705285417e-02, 1.6235745065095532e-02,
                         1.5840557224455615e-02, 3.4849040609362460e-02},
            .error = {2.7289258557377227e-05, 1.0364446640837285e-05, 1.6154798287166471e-05,
                      1.5750704994480102e-05, 3.4177666183390531e-05},
        },
        [CFD_CLASS_W] = {
            .points = 36, .steps = 400, .time_step = 0.0015,
            .residual = {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03,
                         0.2887475409984e-03, 0.3143611161242e-02},
            .error = {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04,
                      0.1128838671535e-04, 0.1212845639773e-03},
        },
        [CFD_CLASS_A] = {
            .points = 64, .steps = 400, .time_step = 0.0015,
            .residual = {2.4799822399300195e+00, 1.1276337964368832e+00, 1.5028977888770491e+00,
                         1.4217816211695179e+00, 2.1292113035138280e+00},
            .error = {1.0900140297820550e-04, 3.7343951769282091e-05, 5.0092785406541633e-05,
                      4.7671093939528255e-05, 1.3621613399213001e-04},
        },
        [CFD_CLASS_B] = {
            .points = 102, .steps = 400, .time_step = 0.001,
            .residual = {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02,
                         0.3864769009604e+02, 0.5643482272596e+02},
            .error = {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02,
                      0.1694479428231e-02, 0.1847456263981e-01},
        },
        [CFD_CLASS_C] = {
            .points = 162, .steps = 400, .time_step = 0.00067,
            .residual = {0.5881691581829e+03, 0.2454417603569e+03, 0.3293829191851e+03,
                         0.3081924971891e+03, 0.4597223799176e+03},
            .error = {0.2598120500183e+00, 0.2590888922315e-01, 0.5132886416320e-01,
                      0.4806073419454e-01, 0.5483377491301e+00},
        },
    },
};
// clang-format on

int main(void) { return cfd_main(&sp); }
