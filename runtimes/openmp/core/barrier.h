// SPDX-License-Identifier: Apache-2.0 OR MIT
// How the members of a team gather at a barrier and are let go: a tree in which each member has up to FAN_IN
// others below it. A member that has come, with all below it, writes that into a line of its own; the one
// above reads it there, and lets it go by a store to another line of it. No line has two writers. Teams with
// more members than cores count at one line instead (barrier.cpp).
#ifndef HADAL_OMP_BARRIER_H
#define HADAL_OMP_BARRIER_H

#include "sync.h"

namespace hadal::omp {

inline constexpr uint32_t FAN_IN = 8;

// A ticket is the number of a region in its team, and that of a barrier in it.
inline uint64_t first_ticket(uint64_t epoch) { return epoch << 32; }
inline constexpr uint32_t JOIN = UINT32_MAX;      // the barrier at the end of a region
inline constexpr uint64_t DISMISSED = UINT64_MAX; // no more regions

// Calls `with` for each member right below this one.
template <typename With> void for_those_below(const Member &me, With with) {
    const Team &team = *me.team;
    uint32_t first = me.number * FAN_IN + 1;
    for (uint32_t number = first; number < me.size && number < first + FAN_IN; number++) {
        with(*team.members[number]);
    }
}

// Waits, running tasks, until all below the member have come.
inline void gather(Member &me, uint64_t ticket) {
    for_those_below(me, [&](Member &below) {
        await_with_tasks(me, [&] { return HRT_LOAD(&below.arrived, HRT_ACQUIRE) >= ticket; });
    });
}

// Those that one member waits for.
struct Siblings {
    Member **members;
    uint32_t first, end; // numbers

    bool have_come(uint64_t ticket) const {
        for (uint32_t number = first; number < end; number++) {
            if (HRT_LOAD(&members[number]->arrived, HRT_ACQUIRE) < ticket) {
                return false;
            }
        }
        return true;
    }
};

// Says that the member has come, to the one above it, which is woken only when it waits for nobody else.
inline void arrive(Member &me, uint64_t ticket) {
    // Once all have come the primary member may change the team, and give its threads to others.
    const Team &team = *me.team;
    uint32_t number = (me.number - 1) / FAN_IN, first = number * FAN_IN + 1;
    Siblings siblings = {team.members, first, first + FAN_IN < me.size ? first + FAN_IN : me.size};
    Thread &above = *HRT_LOAD(&team.members[number]->thread, HRT_RELAXED);
    HRT_EXCHANGE(&me.arrived, ticket, HRT_SEQ_CST);
    if (has_sleepers(team) && siblings.have_come(ticket)) {
        open_door(above);
    }
}

// Lets those below the member go on.
inline void release(Member &me, uint64_t ticket) {
    if (me.number * FAN_IN + 1 >= me.size) {
        return;
    }
    for_those_below(me, [&](Member &below) { HRT_STORE(&below.go, ticket, HRT_RELEASE); });
    HRT_FENCE(HRT_SEQ_CST);
    if (has_sleepers(*me.team)) {
        for_those_below(me, [&](Member &below) { open_door(*below.thread); });
    }
}

// Lets all members but the primary one go on: begin the team's next region, or leave a barrier.
inline void release_others(Team &team, uint64_t ticket) {
    for (uint32_t number = 1; number < team.size; number++) {
        HRT_STORE(&team.members[number]->go, ticket, HRT_RELEASE);
    }
    HRT_FENCE(HRT_SEQ_CST);
    if (has_sleepers(team)) {
        notify_all(team);
    }
}

// While a member is in a barrier, only its implicit task is suspended: it may run any other.
class InBarrier {
  public:
    explicit InBarrier(Member &member) : me(member) { HRT_STORE(&me.in_barrier, 1, HRT_RELAXED); }
    ~InBarrier() { HRT_STORE(&me.in_barrier, 0, HRT_RELAXED); }

  private:
    Member &me;
};

// For a member that is through with a region that has tasks: runs some until all have ended.
void help(Member &me);

// For the others: waits for the next region; false if the member is dismissed.
// `thread`: its own. Who gives the team up takes it away from the member, which may be about to wait.
inline bool await_region(Member &me, Thread &thread) {
    InBarrier in_barrier(me);
    uint64_t seen = me.ticket | JOIN;
    uint32_t mark = task_mark(me.ticket >> 32);
    const Team &team = *me.team;
    auto goes_on = [&] { return HRT_LOAD(&me.go, HRT_ACQUIRE) > seen; };
    for (;;) {
        await_as(me, thread, [&] { return goes_on() || HRT_LOAD(&team.has_tasks, HRT_RELAXED) == mark; });
        if (HRT_LIKELY(goes_on())) {
            return HRT_LOAD(&me.go, HRT_RELAXED) != DISMISSED;
        }
        help(me);
    }
}

// For the primary member, when all have come: runs tasks until all of the team have ended.
void drain(Member &me);

// The barrier at the end of a region: the primary member returns when all are done, the others at once; they
// run tasks in `await_region`.
void join(Member &me);

} // namespace hadal::omp

#endif
