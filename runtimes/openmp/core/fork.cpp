// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel regions: fork and join.
//
// The primary member writes the region into a line of each member, which lets that go; the join
// is a barrier that the others do not wait at: they wait for the next region, and help with tasks of this
// one.
#include "barrier.h"
#include "depend.h"
#include "form.h"
#include "irq.h"
#include "ompt/ompt.h"
#include "places.h"
#include "pool.h"
#include "serial.h"

namespace hadal::omp {

void *serve(void *argument);

namespace {

// A member at the beginning of its team's region.
void begin(Member &me, const Start &start) {
    me.epoch = start.epoch;
    me.ticket = start.first_ticket;
    me.workshares = start.first_workshare;
    me.singles = 0;
    me.workshare = nullptr;
    Task &task = me.implicit;
    task.counts = ONE_REFERENCE;
    task.group = nullptr;
    task.icvs = start.icvs;
}

[[gnu::always_inline]] inline void run(Member &me, const Region &region) {
    if (HRT_UNLIKELY(me.is_moved != 0)) {
        settle(me);
    }
    IrqGuard guard(*me.thread);
    region.run(me, region);
    if (HRT_UNLIKELY(me.implicit.dependences != nullptr)) {
        dependences_free(me.implicit);
    }
}

// `has_tool`: these say what happens to a tool.
template <bool has_tool>
[[gnu::always_inline]] inline Member &begin_team(Member &me, Team &team, const Region &region,
                                                 uint32_t threads) {
    if constexpr (has_tool) {
        ompt::parallel_begin(me, team, threads);
    }
    Member &primary = *team.members[0];
    Start &start = primary.start;
    start.epoch = primary.epoch + 1;
    start.region = region;
    start.icvs = me.task->icvs;
    start.first_ticket = primary.ticket + TICKETS_APART;
    start.first_workshare = primary.workshares;
    if (HRT_UNLIKELY(settings.has_nested_lists)) {
        team.icvs = *start.icvs;
        go_below(team.icvs);
        start.icvs = &team.icvs;
    }
    begin(primary, start);
    if constexpr (has_tool) {
        current = &primary;
        ompt::implicit_begin(primary);
    }
    start_region(team, start);
    current = &primary;
    return primary;
}

template <bool has_tool> [[gnu::always_inline]] inline void end_team(Member &primary) {
    Team &team = *primary.team;
    if constexpr (has_tool) {
        ompt::member_join(primary);
    } else {
        join(primary);
    }
    current = primary.outer;
    if (HRT_UNLIKELY(primary.outer->limited != 0)) {
        release_threads(*primary.outer);
    }
    // Members of a cancelled region have not all met the same constructs.
    if (HRT_UNLIKELY(team.is_cancelled != 0)) {
        workshares_reset(team);
        team.is_cancelled = 0;
    }
    if (team.singles != 0) {
        team.singles = 0;
    }
    if constexpr (has_tool) {
        ompt::parallel_end(*primary.outer, team);
    }
}

// The hot team of a member, with so many members if there are as many threads.
Team &take_team(Member &me, uint32_t size, Bind bind) {
    if (bind == Bind::False || me.task->icvs->bind == Bind::False) {
        bind = me.task->icvs->bind;
    }
    Team *team = me.hot;
    if (HRT_UNLIKELY(team == nullptr || team->size != size || team->bind != bind)) {
        team = &team_form(me, size, bind);
    }
    return *team;
}

[[gnu::always_inline]] inline Member &begin_any(Member &me, const Region &region, uint32_t threads,
                                                Bind bind) {
    uint32_t size = team_size(me, threads);
    if (size > 1) {
        Team &team = take_team(me, size, bind);
        if (HRT_LIKELY(team.size > 1)) {
            return ompt::is_on() ? begin_team<true>(me, team, region, threads)
                                 : begin_team<false>(me, team, region, threads);
        }
        release_threads(me);
    }
    return ompt::is_on() ? ompt::serial_begin(me, threads) : serial_begin(me);
}

[[gnu::always_inline]] inline void end_any(Member &primary) {
    if (HRT_UNLIKELY(primary.size == 1)) {
        ompt::is_on() ? ompt::serial_end(primary) : serial_end(primary);
    } else if (ompt::is_on()) {
        end_team<true>(primary);
    } else {
        end_team<false>(primary);
    }
}

} // namespace

Member &fork_begin(Member &me, const Region &region, uint32_t threads, Bind bind) {
    return begin_any(me, region, threads, bind);
}

void fork_end(Member &primary) { end_any(primary); }

void fork(Member &me, const Region &region, uint32_t threads, Bind bind) {
    Member &primary = begin_any(me, region, threads, bind);
    if (HRT_LIKELY(primary.size > 1)) {
        run(primary, region);
    } else {
        region.run(primary, region);
    }
    end_any(primary);
}

// The life of a thread of the run-time.
void *serve(void *argument) {
    Thread &thread = *static_cast<Thread *>(argument);
    ompt::worker_begin(thread);
    for (;;) {
        Member &me = thread_rest(thread);
        prepare_implicit(me);
        current = &me;
        while (await_region(me, thread)) {
            begin(me, me.start);
            if (ompt::is_on()) {
                ompt::implicit_begin(me);
                run(me, me.start.region);
                ompt::member_join(me);
                continue;
            }
            run(me, me.start.region);
            join(me);
        }
        // From here on the member may get another thread.
        HRT_STORE(&me.start.epoch, 0, HRT_RELEASE);
    }
}

} // namespace hadal::omp
