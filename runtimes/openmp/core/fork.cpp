// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel regions: fork and join.
//
// The primary member writes the region into the team and lets each member go by a store to its line; the join
// is a barrier that the others do not wait at: they wait for the next region, and help with tasks of this
// one.
#include "barrier.h"
#include "depend.h"
#include "form.h"
#include "irq.h"
#include "places.h"
#include "pool.h"
#include "serial.h"

namespace hadal::omp {

void *serve(void *argument);

namespace {

// A member at the beginning of its team's region.
void begin(Member &me, const Team &team) {
    me.ticket = first_ticket(team.epoch);
    me.size = team.size;
    me.workshares = team.first_workshare;
    me.singles = team.first_single;
    me.workshare = nullptr;
    Task &task = me.implicit;
    task.counts = ONE_REFERENCE;
    task.group = nullptr;
    task.icvs = team.icvs;
}

void run(Member &me, const Team &team) {
    if (HRT_UNLIKELY(me.is_moved != 0)) {
        settle(me);
    }
    IrqGuard guard(*me.thread);
    team.region.run(me, team.region);
    if (HRT_UNLIKELY(me.implicit.dependences != nullptr)) {
        dependences_free(me.implicit);
    }
}

Member &begin_team(Member &me, Team &team, const Region &region) {
    Member &primary = *team.members[0];
    team.region = region;
    team.icvs = me.task->icvs;
    if (HRT_UNLIKELY(settings.has_nested_lists)) {
        team.own_icvs = *team.icvs;
        go_below(team.own_icvs);
        team.icvs = &team.own_icvs;
    }
    team.epoch++;
    uint64_t ticket = first_ticket(team.epoch);
    begin(primary, team);
    start_region(team, ticket);
    current = &primary;
    return primary;
}

void end_team(Member &primary) {
    Team &team = *primary.team;
    join(primary);
    current = primary.outer;
    // Members of a cancelled region have not all met the same constructs.
    if (HRT_UNLIKELY(team.is_cancelled != 0)) {
        workshares_reset(team);
        team.is_cancelled = 0;
    } else {
        team.first_workshare = primary.workshares;
    }
    team.first_single = team.singles;
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

} // namespace

Member &fork_begin(Member &me, const Region &region, uint32_t threads, Bind bind) {
    uint32_t size = team_size(me, threads);
    if (size > 1) {
        Team &team = take_team(me, size, bind);
        if (HRT_LIKELY(team.size > 1)) {
            return begin_team(me, team, region);
        }
    }
    return serial_begin(me);
}

void fork_end(Member &primary) {
    if (HRT_LIKELY(primary.size > 1)) {
        end_team(primary);
    } else {
        serial_end(primary);
    }
}

void fork(Member &me, const Region &region, uint32_t threads, Bind bind) {
    Member &primary = fork_begin(me, region, threads, bind);
    if (HRT_LIKELY(primary.size > 1)) {
        run(primary, *primary.team);
    } else {
        region.run(primary, region);
    }
    fork_end(primary);
}

// The life of a thread of the run-time.
void *serve(void *argument) {
    Thread &thread = *static_cast<Thread *>(argument);
    for (;;) {
        Member &me = thread_rest(thread);
        prepare_implicit(me);
        current = &me;
        while (await_region(me, thread)) {
            const Team &team = *me.team;
            begin(me, team);
            run(me, team);
            join(me);
        }
        // From here on the member may get another thread.
        HRT_STORE(&me.go, 0, HRT_RELEASE);
    }
}

} // namespace hadal::omp
