// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory of tasks: blocks of a few sizes, which each thread takes from its own free ones.
#ifndef HADAL_OMP_MEMORY_H
#define HADAL_OMP_MEMORY_H

#include <cstddef>
#include <new>

#include "team.h"

namespace hadal::omp {

struct Block {
    Block *next;
};

inline constexpr size_t TASK_BYTES = (sizeof(Task) + HRT_CACHE_LINE - 1) / HRT_CACHE_LINE * HRT_CACHE_LINE;
inline constexpr size_t PAYLOAD_BYTES[BLOCK_CLASSES] = {128, 384, 1024, 4096};
// The class of tasks whose payload is elsewhere; their blocks are the smallest.
inline constexpr uint32_t LARGE = BLOCK_CLASSES;

// For other than the smallest payloads, and when there is no free block.
Task *task_memory_take_slow(Thread &thread, size_t payload_bytes);
// For blocks of other threads, and others than the smallest.
void task_memory_give_slow(Thread &thread, Task *task);

// Fills in what a task has to know of its memory.
inline Task *task_in(Block *block, Thread &thread, uint32_t size_class) {
    Task *task = ::new (block) Task;
    task->memory_owner = &thread;
    task->memory_class = size_class;
    return task;
}

// A task with room for a payload behind it; its other fields have their first values, or none. Memory of
// tasks is never used for anything else. Ends the program when there is none.
inline Task *task_memory_take(Thread &thread, size_t payload_bytes) {
    Block *block = thread.blocks[0].own;
    if (HRT_UNLIKELY(block == nullptr || payload_bytes > PAYLOAD_BYTES[0])) {
        return task_memory_take_slow(thread, payload_bytes);
    }
    thread.blocks[0].own = block->next;
    return task_in(block, thread, 0);
}

inline void task_memory_give(Thread &thread, Task *task) {
    if (HRT_UNLIKELY(task->memory_owner != &thread || task->memory_class != 0)) {
        task_memory_give_slow(thread, task);
        return;
    }
    thread.blocks[0].own = ::new (task) Block{thread.blocks[0].own};
}

inline void *payload_of(Task &task) {
    return HRT_LIKELY(task.memory_class != LARGE) ? reinterpret_cast<char *>(&task) + TASK_BYTES
                                                  : task.large_payload;
}

// Zeroed memory, aligned to cache lines, that is never freed; ends the program when there is none.
void *permanent_memory(size_t bytes);

} // namespace hadal::omp

#endif
