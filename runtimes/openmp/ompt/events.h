// SPDX-License-Identifier: Apache-2.0 OR MIT
// Calling the tool: its functions by event, and the data that they are about.
#ifndef HADAL_OMP_OMPT_EVENTS_H
#define HADAL_OMP_OMPT_EVENTS_H

#include "ompt.h"

namespace hadal::omp::ompt {

extern Function callbacks[EVENTS];

// Calls the tool's function for an event, if it has one.
template <typename Signature, typename... Arguments> void say(Event event, Arguments... arguments) {
    Function function = HRT_LOAD(&callbacks[static_cast<uint32_t>(event)], HRT_RELAXED);
    if (function != nullptr) {
        reinterpret_cast<Signature *>(function)(arguments...);
    }
}

inline bool is_wanted(Event event) {
    return HRT_LOAD(&callbacks[static_cast<uint32_t>(event)], HRT_RELAXED) != nullptr;
}

// What a task has for the tool.
TaskTool &tool_of(Task &task);
// Where that is for explicit tasks, and what room they have besides.
void *tool_memory_of(Task &task);
size_t payload_bytes_of(const Task &task);
inline Data *parallel_of(Team &team) {
    return team.tool.league != nullptr ? team.tool.league : &team.tool.parallel;
}
inline Data *parallel_of(const Member &me) { return parallel_of(*me.team); }
// The calling thread; null if OpenMP does not know it, or not any more.
// The `taskwait` with dependences that it is in.
extern thread_local constinit WaitingTask *waiting;
extern thread_local constinit ThreadTool *own [[gnu::tls_model("initial-exec")]];

State waiting_state(SyncKind kind);
void say_sync(Event event, SyncKind kind, Endpoint endpoint, Data *parallel, Data *task, const void *code);
// Waits until members whose regions are over have said so.
void await_leaving();
// Functions by name, for the tool.
Function lookup(const char *name);

// The current task is in the run-time while this exists.
class InRuntime {
  public:
    explicit InRuntime(Task &task);
    ~InRuntime();
    InRuntime(const InRuntime &) = delete;
    InRuntime &operator=(const InRuntime &) = delete;

  private:
    Frame &frame;
    Data before;
    int32_t before_flags;
};

} // namespace hadal::omp::ompt

#endif
