// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// BT's solver, which bt.c calls.
#ifndef HADAL_NAS_BT_H
#define HADAL_NAS_BT_H

#include "cfd.h"

// Solves the systems of a batch of lines: along x from cfd_rhs, along y further, along z adding the result to
// cfd_u.
void bt_solve_lines(const struct cfd_batch *batch);

#endif
