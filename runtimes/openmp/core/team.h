// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads, and the teams that they are members of.
//
// A thread of the program that meets a parallel region is the primary member of a team; the other members'
// threads belong to the run-time. A thread keeps the team of its last region ("hot team"), with its threads,
// which wait for the next one. Each member waits on words of its own cache lines; see sync.h for how.
#ifndef HADAL_OMP_TEAM_H
#define HADAL_OMP_TEAM_H

#include <cstdint>

#include <hadal/hrt.h>

#include "deque.h"
#include "icv.h"
#include "inbox.h"
#include "message.h"
#include "ompt/state.h"
#include "task.h"
#include "workshare.h"

namespace hadal::omp {

struct Member;
struct Team;

// The code of a parallel region: `run` calls it in the way of the compiler that has made it.
struct Region {
    void (*run)(Member &me, const Region &region) = nullptr;
    void *code = nullptr;
    void *data = nullptr;
    uint32_t argument_count = 0;
};

// A cache of freed memory blocks of one size class, of one thread (memory.cpp).
struct FreeBlocks {
    struct Block *own = nullptr;
    struct Block *returned = nullptr; // by other threads
};
inline constexpr uint32_t BLOCK_CLASSES = 4;

// Chunks of a loop that a member has reserved, none of them the loop's last: the values of the iteration
// variable where the first begins and the last ends, modulo 2^64, and how much it grows from each to the
// next. They are fewer iterations than the loop has, so only where there is none the two values are the same.
struct Ready {
    uint64_t begin = 0, end = 0, step = 0;

    void clear() { begin = end = 0; }
};

// Positions of a loop that a member is to take first, the first in the lower half, the end in the upper.
struct alignas(64) Range {
    uint64_t bounds = 0;
};

// A thread that OpenMP knows of. Its memory is never freed: its number (gtid) may be used by a later thread.
struct alignas(64) Thread {
    hrt_thread_t name = 0;
    uint32_t gtid = 0;
    int32_t place = -1;        // that it is bound to
    bool is_unplaced = false;  // a thread of the program that gets a place with its first region (places.cpp)
    Member *initial = nullptr; // as the only member of a team of its own, outside of all regions
    // What the program has asked for its next region only (clang's push calls).
    uint32_t pushed_threads = 0;
    Bind pushed_bind = Bind::False;
    uint32_t pushed_teams = 0, pushed_teams_limit = 0;
    bool is_irq_off = false;    // HADAL_OMP_IRQ=off (irq.h)
    uint64_t irq_state = 0;     // what to restore then
    Thread *next = nullptr;     // of the idle ones
    Member *assigned = nullptr; // that it is to become
    bool is_idle = false;       // it is among the idle ones, or has just been taken
    FreeBlocks blocks[BLOCK_CLASSES];
    ompt::ThreadTool tool;
    alignas(64) uint32_t door = 0; // sync.h
};

// What a member needs to begin a region: a line that the primary member writes.
struct alignas(64) Start {
    uint64_t epoch = 0; // number of the region in its team; the last word to be written
    Region region;
    const Icvs *icvs = nullptr;   // of the implicit tasks
    uint64_t first_ticket = 0;    // that of the first barrier is the next one
    uint64_t first_workshare = 0; // number of the first worksharing construct
};
static_assert(sizeof(Start) == 64);

// A thread's place in a team.
struct alignas(64) Member {
    // What its own thread reads and writes all the time.
    Team *team = nullptr;
    uint32_t number = 0;
    uint32_t size = 1; // of the team
    Task *task = nullptr;
    Thread *thread = nullptr;
    Task *in_place = nullptr; // a task that is ready to be run in place again (task_inline.h)
    Team *hot = nullptr;      // that it is the primary member of, kept from its last region
    Member *serial =
        nullptr;           // what it is in regions of one thread, if nothing but that is to be done for them
    Member *alone[2] = {}; // the same, and what it is as an initial task inside of regions (serial.h)
    Member *outer = nullptr; // what its thread is outside of this region (primary members)
    uint64_t epoch = 0;      // of the region that it is in, or was in last
    uint64_t ticket = 0;     // of the last barrier that it has come to
    Workshare *workshare = nullptr;
    Workshare *nest = nullptr; // of a loop nest with ordered dependences (kmpc/doacross.cpp)
    uint64_t workshares = 0;   // that it has met
    Chunk chunk = {0, 0};      // that it is at
    bool takes_turns = false;  // in ordered regions (gomp/ordered.cpp)
    uint64_t dealt = 0;        // static schedules: the next round
    Ready ready;               // chunks that it has taken out of its range (ranges.h)
    uint64_t reserved_at = 0;  // when, in cycles
    uint64_t batch = 1;        // how many chunks it takes at once
    uint32_t singles = 0;      // that it has met
    uint32_t thief_at = 0;     // whom it has stolen from last
    int32_t place = -1;        // number of its place, or -1
    Partition partition;       // for the members of the regions that it meets
    uint32_t in_barrier = 0;   // it may run any task of the team
    uint32_t limited = 0;      // threads of the region below it that count towards a thread limit
    uint32_t is_moved = 0;     // its thread has to go where it belongs before the next region (places.cpp)
    Task implicit;

    Start start;
    alignas(64) uint64_t go = 0; // up to which ticket it may go on; written by the member above it
    // Up to which ticket it, and those below it, have come, and at the end of which region they are; read by
    // the member above it. And its tasks.
    alignas(64) uint64_t arrived = 0;
    uint64_t joined = 0;
    uint64_t tasks_at = 0; // ticket of a barrier to which it has come after there were tasks (barrier_pair)
    uint64_t tasks_created = 0, tasks_ended = 0;
    alignas(64) Deque<Task> deque;
    Range ranges[WORKSHARES]; // of the loops in the ring of the same place
    ompt::TaskTool tool;      // of the implicit task
};

struct alignas(64) Team {
    Member **members = nullptr; // `capacity` of them, of which the first `size` take part
    uint32_t size = 1, capacity = 1;
    Team *parent = nullptr;
    uint32_t parent_number = 0; // of the primary member in it
    uint32_t level = 0, active_level = 0;
    uint32_t league_size = 1, league_number = 0; // of a team at level 0 (`league_of`)
    uint32_t spins = 0, yields = 0;              // how long its members wait before they sleep (sync.h)
    bool is_crowded = false;                     // it has more members than there are cores
    bool shares_cpus = false;                    // it has more members than there are CPUs
    Bind bind = Bind::False;
    void *copy = nullptr;                 // copyprivate of clang
    ReductionScope *reductions = nullptr; // of parallel constructs (reduction(task, ...))
    uint32_t is_cancelled = 0;
    uint32_t busy = 0; // level 0: threads of regions in it that count towards a thread limit, but for its own
    uint64_t loop_cancelled_at = 0; // ticket of the barrier that ends a cancelled loop without a descriptor
    alignas(64) uint32_t arrivals = 0; // members of a crowded team that have come to a barrier
    alignas(64) uint32_t sleepers = 0; // members that sleep, or are about to
    // The region has generated tasks that may be queued: `task_mark` of its number; otherwise 0.
    uint32_t has_tasks = 0;
    uint32_t helpers = 0;             // members that are through with the region and help with its tasks
    alignas(64) uint32_t singles = 0; // `single` constructs that somebody executes, or has executed
    uint64_t ended_elsewhere = 0;     // tasks that threads of other teams have ended
    uint32_t drainer = 0; // who waits for the tasks at a barrier that all have come to: number + 1
    Inbox<Task> inbox;
    Workshare workshares[WORKSHARES];
    ompt::TeamTool tool;
    Icvs icvs; // of the implicit tasks, if they differ from the generating task's
};

// The team around this one that is a team of a league.
inline const Team &league_of(const Team &team) {
    const Team *at = &team;
    while (at->level > 0) {
        at = at->parent;
    }
    return *at;
}

// What says that a region has tasks: never 0, and not the same for the one after it.
inline uint32_t task_mark(uint64_t epoch) { return static_cast<uint32_t>(epoch) << 1 | 1; }

// Says that the region that the member is in has tasks: it must not end before they have.
inline void note_tasks(const Member &me) {
    Team &team = *me.team;
    if (HRT_UNLIKELY(HRT_LOAD(&team.has_tasks, HRT_RELAXED) == 0)) {
        HRT_STORE(&team.has_tasks, task_mark(me.epoch), HRT_RELAXED);
    }
}

extern thread_local constinit Member *current [[gnu::tls_model("initial-exec")]];

// Makes the calling thread known, with a team of its own.
Member &adopt_thread();
// The same for the initial thread, before the program begins.
Member &adopt_early();

// The calling thread as a member of its innermost team.
inline Member &self() {
    Member *me = current;
    return __builtin_expect(me != nullptr, true) ? *me : adopt_thread();
}

// The settings, for routines that may be the first of the run-time that a program calls.
inline Settings &settings_read() {
    self();
    return settings;
}

// The next chunk of the loop that the member is at; false when there is none. For those of nonmonotonic loops
// it comes second.
bool loop_next(Member &me, Chunk *chunk);
// The same, of what the member has ready, as values of the iteration variable.
inline bool loop_next_ready(Member &me, uint64_t *begin, uint64_t *end) {
    uint64_t first = me.ready.begin;
    if (HRT_UNLIKELY(first == me.ready.end)) {
        return false;
    }
    uint64_t next = first + me.ready.step;
    me.ready.begin = next;
    *begin = first;
    *end = next;
    return true;
}

// Runs a region with as many threads as `threads` (0: as many as the ICVs say) and the limits allow, and
// returns when all are done. `bind`: of the construct, or False.
void fork(Member &me, const Region &region, uint32_t threads, Bind bind);
// The two parts of that, for callers that run the primary member's part of the region by themselves: the
// calling thread is the primary member in between. It has to free its task's dependences, if there are any.
Member &fork_begin(Member &me, const Region &region, uint32_t threads, Bind bind);
void fork_end(Member &primary);
// Waits until all members of the team have come and all tasks of the team have ended.
void barrier(Member &me);
// The same, unless the region is cancelled; true if it is.
bool barrier_cancellable(Member &me);

} // namespace hadal::omp

#endif
