// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tasks: implicit ones, one for each member of a team, and explicit ones, which programs generate.
//
// A task's memory lives until it has ended and all tasks that it generated are gone, since they refer to it.
#ifndef HADAL_OMP_TASK_H
#define HADAL_OMP_TASK_H

#include <cstddef>
#include <cstdint>

#include "icv.h"

namespace hadal::omp {

struct Dependences;
struct Successors;
struct Member;
struct ReductionScope;
struct Task;
struct Taskgroup;
struct Team;
struct Thread;

// What runs a task's code: the front end of the compiler that has made it (gomp/task.cpp, kmpc/task.cpp).
// False: it is not over, and has been queued again by task_make_ready (untied tasks in parts).
using TaskFunction = bool (*)(Member &me, Task &task);

struct Task {
    // The lower half counts the tasks it has generated that have not ended; the upper half who needs its
    // memory: it, and each of those that is not gone.
    uint64_t counts = 1ull << 32;
    // These two are also read by thieves that may come too late (Deque::steal): HRT_LOAD, HRT_STORE.
    Task *parent;
    uint32_t depth; // 0: implicit
    Team *team = nullptr;
    TaskFunction run = nullptr;
    Taskgroup *group = nullptr; // the innermost that it belongs to, or has begun
    void *code = nullptr;       // for `run`: function and data of the program
    void *data = nullptr;
    Dependences *dependences = nullptr;     // of the tasks that it generates
    Successors *successors = nullptr;       // who waits for it (depend.cpp)
    Member *runner = nullptr;               // who runs it, or has run it
    Task *next = nullptr, *lower = nullptr; // of the team's inbox
    const Icvs *icvs;       // its own, or those of a task whose values cannot change as long as this one runs
    int32_t priority = 0;   // at most max-task-priority-var
    uint32_t blockers = 0;  // what it has to wait for before it can run: predecessors, and its own generation
    uint32_t open_ends = 1; // what it has to wait for before it has ended: its code, and its event (detach)
    bool is_explicit = false;
    bool is_final = false;
    bool is_untied = false;
    bool is_detachable = false;
    bool is_included = false; // its generator runs it, and waits for it
    bool outlives_code =
        false; // the same, but nobody waits for its event: it is one of its parent's tasks until then
    bool has_objects = false;   // its data has destructors, which only its code, or what is behind it, calls
    bool needs_mutexes = false; // `depend(mutexinoutset)` (depend.cpp)
    void *large_payload;        // memory of its own, if it is too large for a block (`memory_class`)
    Thread *memory_owner = nullptr; // whose free blocks its memory goes back to; null: part of a Member
    uint32_t memory_class = 0;
    // Has values if `icvs` points to it.
    union {
        Icvs own_icvs;
    };

    Task() {}
};

// A task's ICVs for a change: from here on it has its own. The tasks that it generates get copies of those.
inline Icvs &icvs_to_change(Task &task) {
    if (task.icvs != &task.own_icvs) {
        task.own_icvs = *task.icvs;
        task.icvs = &task.own_icvs;
    }
    return task.own_icvs;
}

inline constexpr uint64_t ONE_CHILD = 1, ONE_REFERENCE = 1ull << 32;

// The priority of a task whose clause says that.
inline int32_t priority_of(int64_t value) {
    int64_t most = settings.max_task_priority;
    return static_cast<int32_t>(value <= 0 ? 0 : value < most ? value : most);
}

// How a task is to be generated.
struct TaskOptions {
    bool deferred = true; // false: `if` is false
    bool is_final = false;
    bool is_untied = false;
    bool is_detachable = false;
    int32_t priority = 0;
};

// Queues a task that has no predecessors left, or runs it at once if the queue is full (and tasks are
// throttled).
void task_submit(Member &me, Task &task);
// The two parts of that, for tasks with predecessors: counts it as one of its parent's; queues it.
void task_count(Member &me, Task &task);
void task_make_ready(Member &me, Task &task);

// The program has fulfilled the event of a detached task; from any thread.
void task_fulfill(Task &task);

// Runs one queued task that the member may run now; false if it has found none.
bool task_run_one(Member &me);
// Whether `task_run_one` may find something.
bool task_may_find(const Member &me);

void taskwait(Member &me);
void taskyield(Member &me);

} // namespace hadal::omp

#endif
