// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The parts of the system set.

#ifndef HADAL_TEST_SYSTEM_SET_H
#define HADAL_TEST_SYSTEM_SET_H

#include "../../common/check.h"

void part_auxv(void);
void part_vdso(void);
void part_clocks(void);
void part_proc(void);
void part_sys(void);
void part_random(void);
void part_limits(void);
void part_pipes(void);
void part_threads(void);
void part_ids(void);
void part_nice(void);
void part_file_size(void);
void part_cpu_limit(void);

#endif
