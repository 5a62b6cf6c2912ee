// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The parts of the OpenMP program set: one file each.

#ifndef HADAL_TEST_OPENMP_SET_H
#define HADAL_TEST_OPENMP_SET_H

#include "../../common/check.h"

void part_loops(void);
void part_reductions(void);
void part_tasks(void);
void part_depend(void);
void part_sections(void);
void part_critical(void);
void part_atomic(void);
void part_locks(void);
void part_nested(void);
void part_threadprivate(void);
void part_settings(void);
void part_cancel(void);
void part_kernels(void);

#endif
