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
    me.task = &task;
}

void prepare_implicit(Member &me) {
    me.implicit.parent = nullptr;
    me.implicit.depth = 0;
    me.implicit.team = me.team;
    me.implicit.runner = &me;
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
    team.level = me.team->level + 1;
    team.active_level = me.team->active_level + 1;
    team.league_size = me.team->league_size;
    team.league_number = me.team->league_number;
    team.icvs = icvs_below(me.task->icvs);
    team.is_cancelled = 0;
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
    } else {
        team.first_workshare = primary.workshares;
    }
    team.first_single = team.singles;
}

// Takes a team of one member that the thread has kept, or makes one.
Team &take_serial(Thread &thread) {
    Team *team = thread.serial_teams;
    if (HRT_LIKELY(team != nullptr)) {
        thread.serial_teams = team->next;
        return *team;
    }
    team = &team_new();
    team->members[0]->thread = &thread;
    prepare_implicit(*team->members[0]);
    return *team;
}

} // namespace

Member &fork_begin(Member &me, const Region &region, uint32_t threads, Bind bind) {
    uint32_t size = team_size(me, threads);
    if (size > 1) {
        if (bind == Bind::False || me.task->icvs.bind == Bind::False) {
            bind = me.task->icvs.bind;
        }
        Team *team = me.hot;
        if (HRT_UNLIKELY(team == nullptr || team->size != size || team->bind != bind)) {
            team = &team_form(me, size, bind);
            prepare_implicit(*team->members[0]);
        }
        if (HRT_LIKELY(team->size > 1)) {
            return begin_team(me, *team, region);
        }
    }
    serial_begin(me);
    return *current;
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

void serial_begin(Member &me) {
    Team &team = take_serial(*me.thread);
    Member &inner = *team.members[0];
    const Team &outer = *me.team;
    team.parent = me.team;
    team.parent_number = me.number;
    team.level = outer.level + 1;
    team.active_level = outer.active_level;
    team.league_size = outer.league_size;
    team.league_number = outer.league_number;
    team.icvs = icvs_below(me.task->icvs);
    team.is_cancelled = 0;
    team.epoch++;
    inner.outer = &me;
    inner.place = me.place;
    inner.partition = me.partition;
    begin(inner, team);
    current = &inner;
    if (HRT_UNLIKELY(settings.display_affinity)) {
        display_affinity(inner);
    }
}

void serial_end(Member &inner) {
    Team &team = *inner.team;
    if (HRT_UNLIKELY(HRT_LOAD(&team.has_tasks, HRT_RELAXED) != 0)) {
        barrier(inner);
        team.has_tasks = 0;
    }
    if (HRT_UNLIKELY(inner.implicit.dependences != nullptr)) {
        dependences_free(inner.implicit);
    }
    if (HRT_UNLIKELY(team.is_cancelled != 0)) {
        workshares_reset(team);
    } else {
        team.first_workshare = inner.workshares;
    }
    team.first_single = team.singles;
    Thread &thread = *inner.thread;
    team.next = thread.serial_teams;
    thread.serial_teams = &team;
    current = inner.outer;
}

// The life of a thread of the run-time.
void *serve(void *argument) {
    Thread &thread = *static_cast<Thread *>(argument);
    for (;;) {
        Member &me = thread_rest(thread);
        prepare_implicit(me);
        current = &me;
        while (await_region(me)) {
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
