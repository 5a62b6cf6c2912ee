// SPDX-License-Identifier: Apache-2.0 OR MIT
// Dependences between the tasks that one task generates (`depend`).
#ifndef HADAL_OMP_DEPEND_H
#define HADAL_OMP_DEPEND_H

#include <cstdint>

#include "task.h"

namespace hadal::omp {

// Clang's numbers.
enum class DependKind : uint8_t { In = 1, Out = 3, MutexInOutSet = 4, InOutSet = 8, AllMemory = 0x80 };

struct Dependence {
    uintptr_t address;
    DependKind kind;
};

// Queues a task as soon as what it depends on has ended.
void task_submit_dependent(Member &me, Task &task, const Dependence *list, uint32_t count);

// Waits until all tasks have ended that a task with these dependences would have to wait for.
void taskwait_dependent(Member &me, const Dependence *list, uint32_t count);

// Forgets what the tasks that this one has generated depend on; all of them have ended.
void dependences_free(Task &task);

// For a task that has ended: makes those ready that waited for it.
void successors_release(Member &me, Task &task);

// The mutexes of a task (`mutexinoutset`): takes all, or none and has the task queued again when one is free.
bool mutexes_take(Member &me, Task &task);
void mutexes_give(Member &me, Task &task);

} // namespace hadal::omp

#endif
