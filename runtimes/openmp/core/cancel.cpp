// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cancellation: a word in what is cancelled, which its members look at.
#include "cancel.h"

#include "sync.h"
#include "taskgroup.h"

namespace hadal::omp {

namespace {

// The innermost group that the program has written.
Taskgroup *group_of(const Task &task) {
    Taskgroup *group = task.group;
    while (group != nullptr && group->is_of_reduction) {
        group = group->outer;
    }
    return group;
}

uint32_t *flag_of(Member &me, Cancelled what) {
    switch (what) {
    case Cancelled::Parallel:
        return &me.team->is_cancelled;
    case Cancelled::Workshare:
        return &me.workshare->is_cancelled;
    default:
        Taskgroup *group = group_of(*me.task);
        return group != nullptr ? &group->is_cancelled : nullptr;
    }
}

// Loops and sections that the compiler deals out by itself have no descriptor. They end with a barrier, or
// with the region, so the ticket that all members have before it says which one is meant.
bool has_no_descriptor(const Member &me, Cancelled what) {
    return what == Cancelled::Workshare && me.workshare == nullptr;
}
uint64_t end_of_loop(const Member &me) { return me.ticket + 1; }

} // namespace

bool cancel(Member &me, Cancelled what) {
    if (settings.cancellation && has_no_descriptor(me, what)) {
        HRT_STORE(&me.team->loop_cancelled_at, end_of_loop(me), HRT_RELEASE);
        return true;
    }
    uint32_t *flag = settings.cancellation ? flag_of(me, what) : nullptr;
    if (flag == nullptr) {
        return false;
    }
    HRT_EXCHANGE(flag, 1, HRT_SEQ_CST);
    if (has_sleepers(*me.team)) {
        notify_all(*me.team);
    }
    return true;
}

bool cancellation_point(Member &me, Cancelled what) {
    if (HRT_LIKELY(!settings.cancellation)) {
        return false;
    }
    if (has_no_descriptor(me, what)) {
        return HRT_LOAD(&me.team->loop_cancelled_at, HRT_ACQUIRE) == end_of_loop(me);
    }
    const uint32_t *flag = flag_of(me, what);
    if (flag != nullptr && HRT_LOAD(flag, HRT_ACQUIRE) != 0) {
        return true;
    }
    // Who is in a task of a cancelled region leaves that, too.
    return what == Cancelled::Taskgroup && HRT_LOAD(&me.team->is_cancelled, HRT_ACQUIRE) != 0;
}

} // namespace hadal::omp
