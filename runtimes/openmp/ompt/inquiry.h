// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a tool can ask about the calling thread, and the regions and tasks that it is in (inquiry.cpp).
#ifndef HADAL_OMP_OMPT_INQUIRY_H
#define HADAL_OMP_OMPT_INQUIRY_H

#include "events.h"

namespace hadal::omp::ompt {

Data *get_thread_data();
int get_state(uint64_t *wait_id);
int get_parallel_info(int level, Data **parallel, int *team_size);
int get_task_info(int level, int *kind, Data **task, Frame **frame, Data **parallel, int *thread_num);
int get_task_memory(void **address, size_t *size, int block);

} // namespace hadal::omp::ompt

#endif
