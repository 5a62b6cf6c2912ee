// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// SP's solver, which sp.c calls.
#ifndef HADAL_NAS_SP_H
#define HADAL_NAS_SP_H

#include "cfd.h"

// Solves the systems of a batch of lines: along x from cfd_rhs, along y further, along z adding the result to
// cfd_u.
void sp_solve_lines(const struct cfd_batch *batch);

#endif
