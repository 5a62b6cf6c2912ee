// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory of tasks: blocks of a few sizes, which each thread takes from its own free ones.
#ifndef HADAL_OMP_MEMORY_H
#define HADAL_OMP_MEMORY_H

#include <cstddef>

#include "team.h"

namespace hadal::omp {

// A task with room for a payload behind it; its fields are not initialised but for those about its memory.
// Memory of tasks is never used for anything else. Ends the program when there is none.
Task *task_memory_take(Thread &thread, size_t payload_bytes);
void task_memory_give(Thread &thread, Task *task);

// Zeroed memory, aligned to cache lines, that is never freed; ends the program when there is none.
void *permanent_memory(size_t bytes);

} // namespace hadal::omp

#endif
