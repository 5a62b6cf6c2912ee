// SPDX-License-Identifier: Apache-2.0 OR MIT
// Frames: where a task's code begins on the stack, and where it has called the run-time.
#include <malloc.h>

#include "core/memory.h"
#include "events.h"

namespace hadal::omp::ompt {

thread_local constinit Caller caller = {nullptr, nullptr};

void note_caller(const void *code, void *frame) {
    self();
    caller = {code, frame};
}

// At the end of a task's block. A payload that is too large for a block leaves the block's own room unused.
void *tool_memory_of(Task &task) {
    static_assert(sizeof(TaskTool) <= PAYLOAD_BYTES[0]);
    uint32_t size_class = task.memory_class == LARGE ? 0 : task.memory_class;
    return reinterpret_cast<char *>(&task) + TASK_BYTES + PAYLOAD_BYTES[size_class] - sizeof(TaskTool);
}

size_t payload_bytes_of(const Task &task) {
    return task.memory_class == LARGE ? malloc_usable_size(task.large_payload)
                                      : PAYLOAD_BYTES[task.memory_class] - sizeof(TaskTool);
}

TaskTool &tool_of(Task &task) {
    if (!task.is_explicit) {
        return task.runner->tool;
    }
    return *static_cast<TaskTool *>(tool_memory_of(task));
}

InRuntime::InRuntime(Task &task)
    : frame(tool_of(task).frame), before(frame.enter), before_flags(frame.enter_flags) {
    frame.enter.ptr = caller.frame;
    frame.enter_flags = FRAME_APPLICATION | FRAME_CFA;
}

InRuntime::~InRuntime() {
    frame.enter = before;
    frame.enter_flags = before_flags;
}

// The frame of these two is the last one of the run-time before the program's.
[[gnu::noinline]] void call_framed(Task &task, void (*code)(void *data), void *data) {
    *exit_frame_of(task) = __builtin_frame_address(0);
    code(data);
    *exit_frame_of(task) = nullptr;
}

[[gnu::noinline]] int call_task_framed(Task &task, int (*entry)(int gtid, void *kmp), int gtid, void *kmp) {
    *exit_frame_of(task) = __builtin_frame_address(0);
    int result = entry(gtid, kmp);
    *exit_frame_of(task) = nullptr;
    return result;
}

void **exit_frame_of(Task &task) {
    Frame &frame = tool_of(task).frame;
    frame.exit_flags = FRAME_RUNTIME | FRAME_POINTER;
    return &frame.exit.ptr;
}

} // namespace hadal::omp::ompt
