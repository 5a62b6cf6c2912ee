// SPDX-License-Identifier: Apache-2.0 OR MIT
// Forming teams: this happens when a region is the first of its kind, not for each.
#include "form.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "barrier.h"
#include "memory.h"
#include "places.h"
#include "pool.h"
#include "serial.h"

namespace hadal::omp {

namespace {

constexpr uint32_t YIELDS_SHARED = 1000; // with CPUs that several members have to share
constexpr uint32_t YIELDS = 20;
constexpr uint32_t SPINS_PER_US = 20; // about: a PAUSE takes 40 to 140 cycles
constexpr uint32_t SPINS_CROWDED = 50;

Member &member_new(Team &team, uint32_t number) {
    Member *member = ::new (permanent_memory(sizeof(Member))) Member;
    member->team = &team;
    member->number = number;
    return *member;
}

// Room for the pointers to so many members. The old array stays, since somebody may still be reading it; the
// new one points to it, for checkers of leaks.
void extend(Team &team, uint32_t capacity) {
    if (capacity <= team.capacity) {
        return;
    }
    capacity = capacity > 2 * team.capacity ? capacity : 2 * team.capacity;
    Member **members = static_cast<Member **>(permanent_memory((capacity + 1) * sizeof(Member *)));
    memcpy(members, team.members, team.capacity * sizeof(Member *));
    members[capacity] = reinterpret_cast<Member *>(team.members);
    HRT_STORE(&team.members, members, HRT_RELEASE);
    team.capacity = capacity;
}

// How long members wait before they sleep. A member that spins may keep the one that it waits for from its
// core; one that shares its CPU with another member has to let that run.
void set_patience(Team &team) {
    uint64_t spins = settings.blocktime_ns / 1000 * SPINS_PER_US, yields = YIELDS;
    uint32_t cpus = hrt_cpu_count(), cores = hrt_core_count();
    team.is_crowded = team.size > cores;
    team.shares_cpus = team.size > cpus;
    if (settings.wait_policy == WaitPolicy::Active) {
        spins = team.is_crowded ? SPINS_CROWDED : UINT32_MAX;
        yields = UINT32_MAX;
    } else if (team.is_crowded) {
        // A few yields bring members to CPUs that are busy: between those a wake-up is short.
        spins = 0;
    } else if (settings.wait_policy == WaitPolicy::Passive) {
        spins = 0;
        yields = 0;
    }
    if (team.shares_cpus || cpus == 1) {
        spins = 0;
        yields = settings.wait_policy == WaitPolicy::Passive ? 1 : YIELDS_SHARED;
    }
    HRT_STORE(&team.spins, spins > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(spins), HRT_RELAXED);
    HRT_STORE(&team.yields, static_cast<uint32_t>(yields), HRT_RELAXED);
}

} // namespace

Team &team_new() {
    Team *team = ::new (permanent_memory(sizeof(Team))) Team;
    team->members = static_cast<Member **>(permanent_memory(sizeof(Member *)));
    for (uint32_t index = 0; index < WORKSHARES; index++) {
        workshare_reset(team->workshares[index], index);
    }
    team->members[0] = &member_new(*team, 0);
    return *team;
}

Team &team_form(Member &me, uint32_t size, Bind bind) {
    if (me.hot == nullptr) {
        me.hot = &team_new();
        Team &made = *me.hot;
        made.parent = me.team;
        made.parent_number = me.number;
        made.level = me.team->level + 1;
        made.active_level = me.team->active_level + 1;
        made.members[0]->outer = &me;
        prepare_implicit(*made.members[0]);
    }
    Team &team = *me.hot;
    // The member may have got another thread since its last team, of which some are on their way home yet.
    HRT_STORE(&team.members[0]->thread, me.thread, HRT_RELAXED);
    extend(team, size);
    uint32_t made = 1;
    for (; made < size; made++) {
        Member *&member = team.members[made];
        if (member == nullptr) {
            member = &member_new(team, made);
        }
        if (member->thread == nullptr) {
            // Its last thread may not have seen yet that it is dismissed: two would run as one member.
            while (HRT_LOAD(&member->start.epoch, HRT_ACQUIRE) == DISMISSED) {
                hrt_thread_yield();
            }
            // It takes part from the next region on.
            member->epoch = team.members[0]->epoch;
            HRT_STORE(&member->start.epoch, member->epoch, HRT_RELAXED);
            if (!thread_assign(*member)) {
                break;
            }
        }
    }
    if (made < size) {
        static uint32_t has_warned = 0;
        if (HRT_EXCHANGE(&has_warned, 1, HRT_RELAXED) == 0) {
            warn(Warning::FewerThreads, "no more threads can be created: a region that asked for %u has %u",
                 size, made);
        }
    }
    team.size = made;
    // Members of the last region may have ended tasks of each other: the sums of those that stay differ.
    team.ended_elsewhere = 0;
    for (uint32_t number = 0; number < made; number++) {
        team.members[number]->size = made;
        team.members[number]->tasks_created = 0;
        team.members[number]->tasks_ended = 0;
    }
    place_team(team, bind, me);
    for (uint32_t number = 0; number < made; number++) {
        serial_follow(*team.members[number]);
    }
    set_patience(team);
    return team;
}

void team_dismiss(Member &me) {
    for (Member *inner : me.alone) {
        if (inner != nullptr) {
            team_dismiss(*inner);
        }
    }
    Team *team = me.hot;
    if (team == nullptr) {
        return;
    }
    for (uint32_t number = 0; number < team->capacity; number++) {
        Member *member = team->members[number];
        if (member == nullptr || (number > 0 && member->thread == nullptr)) {
            continue;
        }
        team_dismiss(*member);
        if (number > 0) {
            Thread &thread = *member->thread;
            member->thread = nullptr;
            HRT_EXCHANGE(&member->start.epoch, DISMISSED, HRT_SEQ_CST);
            open_door(thread);
        }
    }
    team->size = 1;
}

void prepare_implicit(Member &me) {
    Task &task = me.implicit;
    task.parent = nullptr;
    task.depth = 0;
    task.team = me.team;
    task.runner = &me;
    me.task = &task;
}

// What the thread limit bounds is the sum over all regions that are nested in one initial task.
static uint32_t &busy_threads(const Member &me) {
    Team *team = me.team;
    while (team->level > 0) {
        team = team->parent;
    }
    return team->busy;
}

// Takes up to so many threads, including the caller, out of what the limit has left.
static uint32_t reserve_threads(Member &me, uint32_t threads) {
    uint32_t limit = me.task->icvs->thread_limit, &busy = busy_threads(me);
    uint32_t taken = HRT_LOAD(&busy, HRT_RELAXED), more;
    do {
        uint32_t left = taken + 1 < limit ? limit - 1 - taken : 0;
        more = threads - 1 < left ? threads - 1 : left;
    } while (more > 0 && !HRT_CAS(&busy, &taken, taken + more, HRT_RELAXED));
    me.limited = more;
    return more + 1;
}

void release_threads(Member &me) {
    HRT_FETCH_SUB(&busy_threads(me), me.limited, HRT_RELAXED);
    me.limited = 0;
}

uint32_t limited_team_size(Member &me, uint32_t threads) {
    const Icvs &icvs = *me.task->icvs;
    if (icvs.dynamic && threads > usable_cpu_count()) {
        threads = usable_cpu_count();
    }
    threads = threads < THREADS_MAX ? threads : THREADS_MAX - 1;
    return icvs.thread_limit == UINT32_MAX ? threads : reserve_threads(me, threads);
}

void go_below(Icvs &icvs) {
    icvs.nesting++;
    if (icvs.nesting < settings.thread_list_len) {
        icvs.threads = settings.thread_lists[icvs.nesting];
    }
    if (icvs.nesting < settings.bind_list_len) {
        icvs.bind = settings.bind_list[icvs.nesting];
    }
}

} // namespace hadal::omp
