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

// Barriers of a team have tickets, and its regions numbers (epochs), that only grow. Members of a cancelled
// region may miss some of its barriers, but not so many: the next region's tickets are larger than all of
// them.
inline constexpr uint64_t TICKETS_APART = 4096;
inline constexpr uint64_t DISMISSED = UINT64_MAX; // the epoch after which there are no more

// Calls `with` for each member right below this one.
template <typename With> void for_those_below(const Member &me, With with) {
    const Team &team = *me.team;
    uint32_t first = me.number * FAN_IN + 1;
    for (uint32_t number = first; number < me.size && number < first + FAN_IN; number++) {
        with(*team.members[number]);
    }
}

// A barrier that members come to, and the end of a region.
struct BarrierPoint {
    uint64_t ticket;
    uint64_t epoch; // of the region: who has left it because of a cancellation counts as having come

    // Whether the member has come, and all below it.
    bool has(const Member &member) const {
        return HRT_LOAD(&member.arrived, HRT_ACQUIRE) >= ticket ||
               (settings.cancellation && HRT_LOAD(&member.joined, HRT_ACQUIRE) >= epoch);
    }
};
struct RegionEnd {
    uint64_t epoch;

    bool has(const Member &member) const { return HRT_LOAD(&member.joined, HRT_ACQUIRE) >= epoch; }
};

// Waits, running tasks, until all below the member have come.
template <typename Point> void gather(Member &me, Point point) {
    for_those_below(me, [&](Member &below) { await_with_tasks(me, [&] { return point.has(below); }); });
}

// Those that one member waits for.
struct Siblings {
    Member **members;
    uint32_t first, end; // numbers

    template <typename Point> bool have_come(Point point) const {
        for (uint32_t number = first; number < end; number++) {
            if (!point.has(*members[number])) {
                return false;
            }
        }
        return true;
    }
};

// Says that the member has come, by a word of it, to the one above it, which is woken only when it waits for
// nobody else.
template <typename Point> void arrive(Member &me, Point point, uint64_t &word, uint64_t value) {
    // Once all have come the primary member may change the team, and give its threads to others.
    const Team &team = *me.team;
    uint32_t number = (me.number - 1) / FAN_IN, first = number * FAN_IN + 1;
    Siblings siblings = {team.members, first, first + FAN_IN < me.size ? first + FAN_IN : me.size};
    Thread &above = *HRT_LOAD(&team.members[number]->thread, HRT_RELAXED);
    HRT_EXCHANGE(&word, value, HRT_SEQ_CST);
    if (has_sleepers(team) && siblings.have_come(point)) {
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

// For the primary member: lets the others begin the team's next region.
inline void start_region(Team &team, const Start &start) {
    for (uint32_t number = 1; number < team.size; number++) {
        Start &theirs = team.members[number]->start;
        theirs.region = start.region;
        theirs.icvs = start.icvs;
        theirs.first_ticket = start.first_ticket;
        theirs.first_workshare = start.first_workshare;
        HRT_STORE(&theirs.epoch, start.epoch, HRT_RELEASE);
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
    uint64_t seen = me.epoch;
    uint32_t mark = task_mark(seen);
    const Team &team = *me.team;
    auto goes_on = [&] { return HRT_LOAD(&me.start.epoch, HRT_ACQUIRE) > seen; };
    for (;;) {
        await_as(me, thread, [&] { return goes_on() || HRT_LOAD(&team.has_tasks, HRT_RELAXED) == mark; });
        if (HRT_LIKELY(goes_on())) {
            return HRT_LOAD(&me.start.epoch, HRT_RELAXED) != DISMISSED;
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
