// SPDX-License-Identifier: Apache-2.0 OR MIT
// The clock of programs.
#include <hadal/hrt.h>

#include "routine.h"

OMP_EXPORT double omp_get_wtime() { return static_cast<double>(hrt_now_ns()) * 1e-9; }
// The clock counts nanoseconds.
OMP_EXPORT double omp_get_wtick() { return 1e-9; }

OMP_FORTRAN(double, omp_get_wtime, ());
OMP_FORTRAN(double, omp_get_wtick, ());
