// SPDX-License-Identifier: Apache-2.0 OR MIT
// The interface for tools, OMPT (OpenMP 5.2, chapter 19), as the rest of the run-time uses it. Each construct
// asks `enabled`, one word that changes only when the program begins or ends, and calls one of these if there
// is a tool.
#ifndef HADAL_OMP_OMPT_H
#define HADAL_OMP_OMPT_H

#include "core/depend.h"
#include "core/team.h"
#include "types.h"

namespace hadal::omp::ompt {

extern bool enabled [[gnu::visibility("hidden")]];

inline bool is_on() { return HRT_UNLIKELY(enabled); }

// Where the program has called the run-time: return address, and stack pointer before the call.
struct Caller {
    const void *code;
    void *frame;
};
extern thread_local constinit Caller caller [[gnu::tls_model("initial-exec")]];

// For the functions that programs call. The calling thread is known from here on.
void note_caller(const void *code, void *frame);
#define OMPT_NOTE_CALLER() hadal::omp::ompt::note_caller(__builtin_return_address(0), __builtin_dwarf_cfa())
// The same for functions that must stay short: calls `act` with nothing of theirs on the stack. They return
// what it returns, so that it is a jump, and the return address is the program's, whether they have become
// part of the program (OMP_INLINED) or not.
template <typename Act> [[gnu::noinline, gnu::cold]] auto with_caller(Act act) {
    OMPT_NOTE_CALLER();
    return act();
}
#define OMPT_ENTRY()                                                                                         \
    do {                                                                                                     \
        if (hadal::omp::ompt::is_on()) {                                                                     \
            OMPT_NOTE_CALLER();                                                                              \
        }                                                                                                    \
    } while (0)

// Whether there may be a tool, which has to learn of the program's first construct.
bool may_have_tool();
// The whole program (start.cpp).
void start();
void finalize();

// Threads (thread.cpp).
void thread_begin(Thread &thread, ThreadKind kind);
void thread_end(Thread &thread);
void worker_begin(Thread &thread); // pool.cpp

// Regions (parallel.cpp): before the members begin; for each member when it is one; for each at the end.
void parallel_begin(Member &me, Team &team, uint32_t requested);
void implicit_begin(Member &me);
void member_join(Member &me);
void parallel_end(Member &me, Team &team);
// Regions of one thread, with all that.
Member &serial_begin(Member &me, uint32_t requested = 1);
void serial_end(Member &inner);

// `teams` (teams.cpp): the league, while it exists, and the initial task of each team.
class League {
  public:
    League(Member &member, uint32_t size);
    ~League();
    League(const League &) = delete;
    League &operator=(const League &) = delete;

  private:
    Member &me;
    Data parallel{0};
    Data *outer;
    const void *code;
};
void initial_begin(Member &me);
void initial_end(Member &me);

// Calls a task's code so that the tool can tell its frame (frame.cpp).
void call_framed(Task &task, void (*code)(void *data), void *data);
int call_task_framed(Task &task, int (*entry)(int gtid, void *kmp), int gtid, void *kmp);
void **exit_frame_of(Task &task);

// Explicit tasks (task.cpp). `kind`: TASK_EXPLICIT, and TASK_UNDEFERRED if its generator waits for it.
Task *task_memory_take(Thread &thread, size_t payload_bytes); // with room for what a tool has of it
void task_create(Member &me, Task &task, int kind, bool has_dependences);
// The program calls the task's code by itself, from the function with this frame.
void task_called_by(Task &task, void *frame);
void task_switch(Task &from, Task &to);
void task_leave(Task &task, Task &to);
void task_discard(Task &task, Task &current);
void task_fulfilled(Task &task);
// What a task depends on, and each task that it has to wait for.
void dependences(Task &task, const Dependence *list, uint32_t count);
void dependences(TaskTool &task, const Dependence *list, uint32_t count);
void dependence_pair(Task &before, Task &after);
// `ordered depend`: the iteration that is over, or that is waited for.
void doacross(Member &me, const uint64_t *vector, uint32_t dimensions, bool is_sink);
void task_yields(Task &task, bool is_yielding);
class WaitingTask {
  public:
    explicit WaitingTask(Member &member);
    ~WaitingTask();
    WaitingTask(const WaitingTask &) = delete;
    WaitingTask &operator=(const WaitingTask &) = delete;

    TaskTool tool;

  private:
    Member &me;
};

// Worksharing and the like (work.cpp). A construct that the compiler does not say the end of is closed by the
// next thing that its task does.
void work_begin(Member &me, WorkKind kind, uint64_t count);
void work_close(Member &me);
void work_single(Member &me, bool is_executor);
bool single(Member &me); // `single_enter` for a tool
void work_both(Member &me, WorkKind kind, bool is_begin, uint64_t count);
void masked(Member &me, bool is_begin);
void reduction(Member &me, bool is_begin);
void flush(Member &me);
void cancel_event(Member &me, int flags);
void error(bool is_fatal, const char *message, size_t length);
int control(uint64_t command, uint64_t modifier, void *argument);

// Mutual exclusion (mutex.cpp).
class Acquire {
  public:
    Acquire(MutexKind which, const void *object, uint32_t hint = 0);
    // `is_again`: the caller had a nestable lock already.
    void end(bool is_mine = true, bool is_again = false);

  private:
    MutexKind kind;
    const void *lock;
    Thread &thread;
    Caller from;
    State before;
};
void mutex_released(MutexKind kind, const void *lock);
void nest_lock_released(const void *lock, bool is_last);
void lock_init(MutexKind kind, const void *lock, uint32_t hint);
void lock_destroy(MutexKind kind, const void *lock);

// A region in which a task waits, and the barrier in it: says when it begins and ends (sync.cpp).
class Sync {
  public:
    Sync(Member &member, SyncKind which);
    ~Sync();
    Sync(const Sync &) = delete;
    Sync &operator=(const Sync &) = delete;

  private:
    Member &me;
    SyncKind kind;
    Caller from;
    State before;
};

// `taskgroup`: its begin; and at its end where it begins to wait, and when it is over.
void taskgroup_begin(Member &me);
void taskgroup_wait(Member &me, bool is_begin);

} // namespace hadal::omp::ompt

#endif
