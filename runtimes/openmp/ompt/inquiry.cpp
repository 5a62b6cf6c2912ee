// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where the calling thread is: its regions and tasks, from the innermost on. These may be called from signal
// handlers: they take no lock and change nothing.
#include "inquiry.h"

#include "core/memory.h"

namespace hadal::omp::ompt {

namespace {

Member *current_member() { return enabled ? current : nullptr; }

// The member whose task has met the region of this team; null outside of all.
Member *encountering(const Member &me) { return me.team->members[0]->outer; }

} // namespace

Data *get_thread_data() { return enabled && own != nullptr ? &own->data : nullptr; }

int get_state(uint64_t *wait_id) {
    const ThreadTool *thread = enabled ? own : nullptr;
    if (wait_id != nullptr) {
        *wait_id = thread != nullptr ? thread->wait_id : 0;
    }
    return thread != nullptr ? static_cast<int>(thread->state) : 0;
}

int get_parallel_info(int level, Data **parallel, int *team_size) {
    Member *me = current_member();
    for (; me != nullptr && level > 0; level--) {
        me = encountering(*me);
    }
    if (me == nullptr || level < 0) {
        return 0;
    }
    if (parallel != nullptr) {
        *parallel = parallel_of(*me);
    }
    if (team_size != nullptr) {
        *team_size = static_cast<int>(me->size);
    }
    return 2;
}

int get_task_info(int level, int *kind, Data **task_data, Frame **frame, Data **parallel, int *thread_num) {
    Member *me = current_member();
    if (me == nullptr || level < 0) {
        return 0;
    }
    Task *task = me->task;
    for (; level > 0; level--) {
        if (task->is_explicit) {
            task = tool_of(*task).below;
            if (task == nullptr) {
                return 0;
            }
            continue;
        }
        me = encountering(*task->runner);
        if (me == nullptr) {
            return 0;
        }
        task = me->task;
    }
    TaskTool &tool = tool_of(*task);
    if (kind != nullptr) {
        *kind = tool.kind;
    }
    if (task_data != nullptr) {
        *task_data = &tool.data;
    }
    if (frame != nullptr) {
        *frame = &tool.frame;
    }
    if (parallel != nullptr) {
        *parallel = parallel_of(*task->team);
    }
    if (thread_num != nullptr) {
        *thread_num = static_cast<int>(task->runner != nullptr ? task->runner->number : me->number);
    }
    return 2;
}

// The block that has an explicit task's private variables.
int get_task_memory(void **address, size_t *size, int block) {
    Member *me = current_member();
    if (me == nullptr || block != 0 || !me->task->is_explicit) {
        *address = nullptr;
        *size = 0;
        return 0;
    }
    *address = payload_of(*me->task);
    *size = payload_bytes_of(*me->task);
    return 0;
}

} // namespace hadal::omp::ompt
