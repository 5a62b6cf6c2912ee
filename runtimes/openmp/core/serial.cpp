// SPDX-License-Identifier: Apache-2.0 OR MIT
// The rare parts of regions of one thread.
#include "serial.h"

#include "barrier.h"
#include "depend.h"
#include "form.h"
#include "ompt/ompt.h"
#include "places.h"

namespace hadal::omp {

namespace {

Member &serial_new(Member &me, Alone purpose) {
    Team &team = team_new();
    Member &inner = *team.members[0];
    team.parent = me.team;
    team.parent_number = me.number;
    if (purpose == Alone::Region) {
        team.level = me.team->level + 1;
        team.active_level = me.team->active_level;
    }
    inner.outer = &me;
    prepare_implicit(inner);
    me.alone[static_cast<size_t>(purpose)] = &inner;
    serial_follow(me);
    return inner;
}

// Code of an initial task begins at the first number of each list again.
void take_from_lists(Task &task, const Team &team) {
    task.own_icvs = *task.icvs;
    task.icvs = &task.own_icvs;
    if (team.level == 0) {
        task.own_icvs.nesting = 0;
    } else {
        go_below(task.own_icvs);
    }
}

} // namespace

Member &serial_begin(Member &me, Alone purpose) {
    Member *kept = me.alone[static_cast<size_t>(purpose)];
    Member &inner = kept != nullptr ? *kept : serial_new(me, purpose);
    inner.workshare = nullptr;
    inner.implicit.icvs = me.task->icvs;
    current = &inner;
    if (settings.has_nested_lists) {
        take_from_lists(inner.implicit, *inner.team);
    }
    if (settings.display_affinity) {
        display_affinity(inner, false);
    }
    // A tool learns of each region.
    if (purpose == Alone::Region && !settings.has_nested_lists && !settings.display_affinity &&
        !ompt::is_on()) {
        me.serial = &inner;
    }
    return inner;
}

void serial_follow(const Member &me) {
    for (Member *inner : me.alone) {
        if (inner == nullptr) {
            continue;
        }
        bool is_new = inner->place != me.place || inner->partition.first != me.partition.first ||
                      inner->partition.count != me.partition.count;
        if (is_new && inner->hot != nullptr) {
            inner->hot->size = 0; // to be formed again
        }
        inner->thread = me.thread;
        inner->place = me.place;
        inner->partition = me.partition;
        serial_follow(*inner);
    }
}

void serial_end_slow(Member &inner) {
    Team &team = *inner.team;
    if (HRT_LOAD(&team.has_tasks, HRT_RELAXED) != 0) {
        barrier(inner);
        team.has_tasks = 0;
    }
    if (inner.implicit.dependences != nullptr) {
        dependences_free(inner.implicit);
    }
    if (team.is_cancelled != 0) {
        workshares_reset(team);
        team.is_cancelled = 0;
    }
}

} // namespace hadal::omp
