// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a tool and the run-time pass to each other (OpenMP 5.2, sections 19.4 and 19.5). The numbers are the
// standard's.
#ifndef HADAL_OMP_OMPT_TYPES_H
#define HADAL_OMP_OMPT_TYPES_H

#include <cstddef>
#include <cstdint>

namespace hadal::omp::ompt {

// Of the tool: the run-time only keeps it.
union Data {
    uint64_t value;
    void *ptr;
};

// Where a task's code begins and where it is in the run-time. Null: it is not.
struct Frame {
    Data exit{0}, enter{0};
    int32_t exit_flags = 0, enter_flags = 0;
};
inline constexpr int32_t FRAME_RUNTIME = 0x00, FRAME_APPLICATION = 0x01, FRAME_CFA = 0x10,
                         FRAME_POINTER = 0x20;

enum class Event : uint32_t {
    ThreadBegin = 1,
    ThreadEnd = 2,
    ParallelBegin = 3,
    ParallelEnd = 4,
    TaskCreate = 5,
    TaskSchedule = 6,
    ImplicitTask = 7,
    ControlTool = 11,
    SyncRegionWait = 16,
    MutexReleased = 17,
    Dependences = 18,
    TaskDependence = 19,
    Work = 20,
    Masked = 21,
    SyncRegion = 23,
    LockInit = 24,
    LockDestroy = 25,
    MutexAcquire = 26,
    MutexAcquired = 27,
    NestLock = 28,
    Flush = 29,
    Cancel = 30,
    Reduction = 31,
    Dispatch = 32,
    Error = 37,
};
inline constexpr uint32_t EVENTS = 38;

enum SetResult : int { SET_ERROR = 0, SET_NEVER = 1, SET_SOMETIMES = 3, SET_ALWAYS = 5 };

enum class ThreadKind : int { Initial = 1, Worker = 2 };
enum class Endpoint : int { Begin = 1, End = 2, BeginEnd = 3 };
enum class SyncKind : int {
    Barrier = 1,
    BarrierImplicit = 2,
    BarrierExplicit = 3,
    BarrierImplementation = 4,
    Taskwait = 5,
    Taskgroup = 6,
    Reduction = 7,
    BarrierWorkshare = 8,
    BarrierParallel = 9,
    BarrierTeams = 10,
};
enum class WorkKind : int {
    Loop = 1,
    Sections = 2,
    SingleExecutor = 3,
    SingleOther = 4,
    Distribute = 6,
    Taskloop = 7,
    Scope = 8,
};
enum class MutexKind : int {
    Lock = 1,
    TestLock = 2,
    NestLock = 3,
    TestNestLock = 4,
    Critical = 5,
    Atomic = 6,
    Ordered = 7
};
enum class TaskStatus : int {
    Complete = 1,
    Yield = 2,
    Cancel = 3,
    Detach = 4,
    EarlyFulfill = 5,
    LateFulfill = 6,
    Switch = 7,
    TaskwaitComplete = 8,
};

// Of parallel_begin and parallel_end.
inline constexpr int PARALLEL_INVOKER_PROGRAM = 0x1, PARALLEL_INVOKER_RUNTIME = 0x2,
                     PARALLEL_LEAGUE = 0x40000000, PARALLEL_TEAM = static_cast<int>(0x80000000);
// Kinds of tasks.
inline constexpr int TASK_INITIAL = 0x1, TASK_IMPLICIT = 0x2, TASK_EXPLICIT = 0x4, TASK_TASKWAIT = 0x10,
                     TASK_UNDEFERRED = 0x08000000, TASK_UNTIED = 0x10000000, TASK_FINAL = 0x20000000,
                     TASK_MERGEABLE = 0x40000000;
inline constexpr int TASK_KINDS = TASK_INITIAL | TASK_IMPLICIT;
inline constexpr int CANCEL_PARALLEL = 0x01, CANCEL_SECTIONS = 0x02, CANCEL_LOOP = 0x04,
                     CANCEL_TASKGROUP = 0x08, CANCEL_ACTIVATED = 0x10, CANCEL_DETECTED = 0x20,
                     CANCEL_DISCARDED_TASK = 0x40;

enum class State : uint32_t {
    WorkSerial = 0x000,
    WorkParallel = 0x001,
    WorkReduction = 0x002,
    WaitBarrierImplicitParallel = 0x011,
    WaitBarrierImplicitWorkshare = 0x012,
    WaitBarrierExplicit = 0x014,
    WaitBarrierImplementation = 0x015,
    WaitBarrierTeams = 0x016,
    WaitTaskwait = 0x020,
    WaitTaskgroup = 0x021,
    WaitLock = 0x041,
    WaitCritical = 0x042,
    WaitAtomic = 0x043,
    WaitOrdered = 0x044,
    Idle = 0x100,
    Overhead = 0x101,
    Undefined = 0x102,
};

struct DependenceItem {
    Data variable;
    int kind; // 1: in, 2: out, 3: inout, 4: mutexinoutset, 5: source, 6: sink, 7: inoutset, 8: all memory
};

// How locks of this run-time are implemented (ompt_enumerate_mutex_impls).
inline constexpr uint32_t MUTEX_IMPL = 1;

using Function = void (*)();
using Lookup = Function (*)(const char *name);
struct StartResult {
    int (*initialize)(Lookup lookup, int initial_device, Data *tool_data);
    void (*finalize)(Data *tool_data);
    Data tool_data;
};

} // namespace hadal::omp::ompt

#endif
