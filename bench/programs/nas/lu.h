// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What LU's files share.
#ifndef HADAL_NAS_LU_H
#define HADAL_NAS_LU_H

#include "cfd.h"

// The relaxation factor omega of the report.
#define LU_RELAXATION 1.2

// lu_sweep.c: the lower sweep turns the right-hand side in cfd_rhs into an intermediate solution there; the
// upper sweep turns that into the correction and adds it to cfd_u. All threads of a team call each; they end
// with a barrier.
void lu_sweep_lower(void);
void lu_sweep_upper(void);

// lu_rows.c: the same for one row along x, whose neighbouring rows of the one side are done.
void lu_lower_row(int k, int j);
void lu_upper_row(int k, int j);

#endif
