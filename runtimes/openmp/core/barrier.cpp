// SPDX-License-Identifier: Apache-2.0 OR MIT
// Barriers. A barrier is over when all members have come and all tasks of the team have ended.
#include "barrier.h"

namespace hadal::omp {

namespace {

// Whether all tasks have ended. Those that have ended are counted first: what is generated meanwhile, by
// tasks that run, makes the two sums differ.
bool are_tasks_over(const Team &team) {
    uint64_t ended = HRT_LOAD(&team.ended_elsewhere, HRT_ACQUIRE), created = 0;
    for (uint32_t number = 0; number < team.size; number++) {
        ended += HRT_LOAD(&team.members[number]->tasks_ended, HRT_ACQUIRE);
    }
    for (uint32_t number = 0; number < team.size; number++) {
        created += HRT_LOAD(&team.members[number]->tasks_created, HRT_ACQUIRE);
    }
    return created == ended;
}

// For the primary member at the end of a region, whose tasks have ended: the team must not change while
// others look for some.
void send_helpers_away(Member &me) {
    Team &team = *me.team;
    HRT_EXCHANGE(&team.has_tasks, 0, HRT_SEQ_CST);
    if (has_sleepers(team)) {
        notify_all(team);
    }
    await(me, [&] { return HRT_LOAD(&team.helpers, HRT_ACQUIRE) == 0; });
}

// For a member that was let go, where nobody has come to the next barrier: the primary member may wait for
// its CPU.
[[gnu::noinline]] void let_primary_go(const Member &me) {
    const Team &team = *me.team;
    if (team.shares_cpus && me.number != 0 && HRT_LOAD(&team.members[0]->in_barrier, HRT_RELAXED) != 0) {
        hrt_thread_yield();
    }
}

// Where members share cores they sleep, and to wake one takes much longer than a line takes from core to
// core: the last to come lets all others go, instead of waking the primary member for that. All write one
// counter.
//
// Where they share CPUs the others give way once to the primary member if it has not gone on yet: they often
// have to wait for what it does next, and one that looks for that all the time may have its CPU. The last to
// come gives way in any case, to all that have waited for its CPU.
void barrier_crowded(Member &me, uint64_t ticket) {
    Team &team = *me.team;
    if (HRT_FETCH_ADD(&team.arrivals, 1, HRT_ACQ_REL) + 1 < me.size) {
        await_with_tasks(me, [&] { return HRT_LOAD(&me.go, HRT_ACQUIRE) >= ticket; });
        if (HRT_UNLIKELY(HRT_LOAD(&team.arrivals, HRT_RELAXED) == 0)) {
            let_primary_go(me);
        }
        return;
    }
    HRT_STORE(&team.arrivals, 0, HRT_RELAXED);
    drain(me);
    for (uint32_t number = 0; number < me.size; number++) {
        HRT_STORE(&team.members[number]->go, ticket, HRT_RELEASE);
    }
    HRT_FENCE(HRT_SEQ_CST);
    if (has_sleepers(team)) {
        notify_all(team);
    }
    if (team.shares_cpus && me.number != 0) {
        hrt_thread_yield();
    }
}

// Two members look at each other: that takes a line's way from core to core once, and not there and back.
// Whether there may be tasks must not be asked after that, since the other may have gone on and made some:
// each member says what it knew when it came.
void barrier_pair(Member &me, uint64_t ticket) {
    Team &team = *me.team;
    Member &other = *team.members[1 - me.number];
    if (HRT_UNLIKELY(HRT_LOAD(&team.has_tasks, HRT_RELAXED) != 0)) {
        HRT_STORE(&me.tasks_at, ticket, HRT_RELEASE);
    }
    HRT_EXCHANGE(&me.arrived, ticket, HRT_SEQ_CST);
    if (has_sleepers(team)) {
        open_door(*other.thread);
    }
    await_with_tasks(me, [&] { return HRT_LOAD(&other.arrived, HRT_ACQUIRE) >= ticket; });
    if (HRT_LIKELY(me.tasks_at != ticket && HRT_LOAD(&other.tasks_at, HRT_ACQUIRE) != ticket)) {
        return;
    }
    // The other member goes on only when it is let, so the primary sees what that knew. If the primary has
    // gone on and come to the next barrier, the tasks were over, and the other need not see what the primary
    // knew.
    if (me.number == 0) {
        drain(me);
        release(me, ticket);
    } else {
        await_with_tasks(me, [&] { return HRT_LOAD(&me.go, HRT_ACQUIRE) >= ticket; });
    }
}

} // namespace

void drain(Member &me) {
    Team &team = *me.team;
    if (HRT_LIKELY(HRT_LOAD(&team.has_tasks, HRT_RELAXED) == 0)) {
        return;
    }
    HRT_STORE(&team.drainer, me.number + 1, HRT_SEQ_CST);
    await_with_tasks(me, [&] { return are_tasks_over(team); });
    HRT_STORE(&team.drainer, 0, HRT_RELAXED);
    // The members that are let go behind this see it before they generate more.
    HRT_STORE(&team.has_tasks, 0, HRT_RELAXED);
}

void barrier(Member &me) {
    InBarrier in_barrier(me);
    uint64_t ticket = ++me.ticket;
    if (me.size == 1) {
        drain(me);
        return;
    }
    // These do not know of members that leave because of a cancellation.
    if (HRT_LIKELY(!settings.cancellation)) {
        if (HRT_UNLIKELY(me.team->is_crowded)) {
            barrier_crowded(me, ticket);
            return;
        }
        if (me.size == 2) {
            barrier_pair(me, ticket);
            return;
        }
    }
    BarrierPoint point = {ticket, me.epoch};
    gather(me, point);
    if (me.number != 0) {
        arrive(me, point, me.arrived, ticket);
        await_with_tasks(me, [&] { return HRT_LOAD(&me.go, HRT_ACQUIRE) >= ticket; });
    } else {
        drain(me);
    }
    release(me, ticket);
}

bool barrier_cancellable(Member &me) {
    Team &team = *me.team;
    if (HRT_LIKELY(!settings.cancellation)) {
        barrier(me);
        return false;
    }
    auto is_cancelled = [&] { return HRT_LOAD(&team.is_cancelled, HRT_ACQUIRE) != 0; };
    InBarrier in_barrier(me);
    if (me.size == 1 || is_cancelled()) {
        if (!is_cancelled()) {
            me.ticket++;
            drain(me);
        }
        return is_cancelled();
    }
    // A member that leaves because of the cancellation goes to the end of the region: whoever waits for it
    // here sees that, or the cancellation.
    uint64_t ticket = ++me.ticket;
    BarrierPoint point = {ticket, me.epoch};
    bool leaves = false;
    for_those_below(me, [&](Member &below) {
        await_with_tasks(me, [&] { return point.has(below) || is_cancelled(); });
        leaves |= HRT_LOAD(&below.arrived, HRT_ACQUIRE) != ticket;
    });
    if (leaves) {
        return true;
    }
    if (me.number != 0) {
        arrive(me, point, me.arrived, ticket);
        await_with_tasks(me, [&] { return HRT_LOAD(&me.go, HRT_ACQUIRE) >= ticket || is_cancelled(); });
        if (HRT_LOAD(&me.go, HRT_ACQUIRE) < ticket) {
            return true;
        }
    } else {
        drain(me);
    }
    release(me, ticket);
    // Who passes a barrier passes it with all others: a cancellation from here on is for the next one.
    return false;
}

void join(Member &me) {
    InBarrier in_barrier(me);
    RegionEnd end = {me.epoch};
    gather(me, end);
    if (me.number != 0) {
        arrive(me, end, me.joined, me.epoch);
        return;
    }
    const Team &team = *me.team;
    if (HRT_UNLIKELY((HRT_LOAD(&team.has_tasks, HRT_RELAXED) | HRT_LOAD(&team.helpers, HRT_ACQUIRE)) != 0)) {
        drain(me);
        send_helpers_away(me);
    }
}

void help(Member &me) {
    Team &team = *me.team;
    uint32_t mark = task_mark(me.epoch);
    HRT_FETCH_ADD(&team.helpers, 1, HRT_SEQ_CST);
    HRT_FENCE_AFTER_UPDATE();
    await_with_tasks(me, [&] { return HRT_LOAD(&team.has_tasks, HRT_ACQUIRE) != mark; });
    // Once all helpers have left the primary member may change the team; it may be doing so already if it has
    // looked for helpers before this one.
    Member &primary = *HRT_LOAD(&team.members, HRT_ACQUIRE)[0];
    if (HRT_FETCH_SUB(&team.helpers, 1, HRT_SEQ_CST) == 1) {
        notify(team, primary);
    }
}

} // namespace hadal::omp
