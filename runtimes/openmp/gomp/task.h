// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks of programs compiled by gcc.
#ifndef HADAL_OMP_GOMP_TASK_H
#define HADAL_OMP_GOMP_TASK_H

#include <cstring>

#include "core/cancel.h"
#include "core/task_inline.h"
#include "gomp.h"

namespace hadal::omp::gomp {

// Bits of the flags of GOMP_task and GOMP_taskloop.
inline constexpr unsigned TASK_UNTIED = 1 << 0, TASK_FINAL = 1 << 1, TASK_DEPEND = 1 << 3,
                          TASK_PRIORITY = 1 << 4, TASK_DETACH = 1 << 13;
inline constexpr unsigned TASKLOOP_UP = 1 << 8, TASKLOOP_GRAINSIZE = 1 << 9, TASKLOOP_IF = 1 << 10,
                          TASKLOOP_NOGROUP = 1 << 11, TASKLOOP_REDUCTION = 1 << 12, TASKLOOP_STRICT = 1 << 14;

// A task's data block in the program, which is its generator's: the task gets a copy.
struct TaskData {
    void *data;
    CopyFunction copy; // null: bytes
    size_t bytes;
    size_t align;

    // What a payload has to have so that the copy can be aligned in it.
    size_t payload_bytes() const { return align > 64 ? bytes + align : bytes; }

    void *copy_to(void *payload) const {
        if (HRT_UNLIKELY(align > 64)) {
            payload = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(payload) + align - 1) & -align);
        }
        if (copy != nullptr) {
            copy(payload, data);
        } else if (bytes >= 8 && bytes <= 32) {
            bytes < 16 ? copy_ends<8>(payload) : copy_ends<16>(payload);
        } else if (bytes > 0) {
            memcpy(payload, data, bytes);
        }
        return payload;
    }

  private:
    // Copies the first and the last `part` bytes, which are all: few variables are not worth a call.
    template <size_t part> void copy_ends(void *payload) const {
        memcpy(payload, data, part);
        memcpy(static_cast<char *>(payload) + bytes - part, static_cast<char *>(data) + bytes - part, part);
    }
};

inline bool run_task(Member &, Task &task) {
    if (ompt::is_on()) {
        ompt::call_framed(task, reinterpret_cast<Function>(task.code), task.data);
        return true;
    }
    call(task.code, task.data);
    return true;
}

inline TaskOptions options_of(unsigned flags, bool deferred, int priority) {
    TaskOptions options;
    options.deferred = deferred;
    options.is_final = (flags & TASK_FINAL) != 0;
    options.is_untied = (flags & TASK_UNTIED) != 0;
    options.is_detachable = (flags & TASK_DETACH) != 0;
    options.priority = (flags & TASK_PRIORITY) != 0 ? priority_of(priority) : 0;
    return options;
}

// Makes a task with a copy of the data.
inline Task &make_task(Member &me, Function function, const TaskData &data, const TaskOptions &options) {
    Task &task = task_new(me, data.payload_bytes(), options);
    task.run = run_task;
    task.code = code_of(function);
    if (HRT_UNLIKELY(data.copy != nullptr)) {
        task.has_objects = true;
    }
    task.data = data.copy_to(payload_of(task));
    return task;
}

// Tells a tool of a task that is to run at once, or not.
inline void say_created(Member &me, Task &task, bool at_once, bool has_dependences) {
    if (ompt::is_on()) {
        ompt::task_create(me, task, ompt::TASK_EXPLICIT | (at_once ? ompt::TASK_UNDEFERRED : 0),
                          has_dependences);
    }
}

// Whether the taskgroup or the region around the caller is cancelled: then it generates no tasks any more.
inline bool generates_none(Member &me) {
    return HRT_UNLIKELY(settings.cancellation) && cancellation_point(me, Cancelled::Taskgroup);
}

} // namespace hadal::omp::gomp

#endif
