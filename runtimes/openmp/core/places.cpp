// SPDX-License-Identifier: Apache-2.0 OR MIT
// The list of places, and how the members of a team are distributed over it.
#include "places.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "serial.h"

namespace hadal::omp {

namespace {

cpu_set_t *places;
uint32_t count, capacity;

cpu_set_t process_cpus;
bool has_process_cpus;

// Values of Member::is_moved with OMP_DISPLAY_AFFINITY.
constexpr uint32_t SHOWN_IF_NEW = 1, SHOWN_AGAIN = 2;

// Of `number` when `members` are dealt out to `places` in blocks of consecutive numbers that differ by one at
// most, the larger ones first. There are at least as many members.
uint32_t block_of(uint32_t members, uint32_t blocks, uint32_t number) {
    uint32_t small = members / blocks, larger = members % blocks;
    uint32_t in_larger = larger * (small + 1);
    return number < in_larger ? number / (small + 1) : larger + (number - in_larger) / small;
}

uint32_t block_begin(uint32_t members, uint32_t blocks, uint32_t block) {
    uint32_t larger = members % blocks;
    return block * (members / blocks) + (block < larger ? block : larger);
}

// hrt numbers the CPUs that the process may use without gaps, in the system's order.
int32_t hrt_cpu_of(int cpu) {
    if (static_cast<uint32_t>(CPU_COUNT(&cpus_of_process())) != hrt_cpu_count()) {
        return cpu;
    }
    int32_t number = 0;
    for (int other = 0; other < cpu; other++) {
        number += CPU_ISSET(static_cast<size_t>(other), &cpus_of_process()) ? 1 : 0;
    }
    return number;
}

} // namespace

uint32_t place_count() { return count; }
Partition whole_partition() { return {0, count}; }

Placement place_member(Bind bind, Partition partition, int32_t primary_place, uint32_t number,
                       uint32_t size) {
    if (bind == Bind::False || partition.count == 0) {
        return {-1, partition};
    }
    uint32_t len = partition.count;
    uint32_t from = static_cast<uint32_t>(primary_place) - partition.first;
    if (primary_place < 0 || from >= len) {
        from = 0;
    }
    auto place_at = [&](uint32_t index) { return static_cast<int32_t>(partition.first + index % len); };
    if (bind == Bind::Primary) {
        return {place_at(from), partition};
    }
    bool is_spread = bind == Bind::Spread;
    if (size > len) {
        int32_t place = place_at(from + block_of(size, len, number));
        return {place, is_spread ? Partition{static_cast<uint32_t>(place), 1} : partition};
    }
    if (!is_spread) {
        return {place_at(from + number), partition};
    }
    // Each member has a part of the partition to itself; the primary member stays where it is.
    uint32_t part = (block_of(len, size, from) + number) % size;
    uint32_t begin = block_begin(len, size, part), end = block_begin(len, size, part + 1);
    return {place_at(number == 0 ? from : begin), {partition.first + begin, end - begin}};
}

int32_t place_of_member(Bind bind, int32_t primary_place, uint32_t number, uint32_t size) {
    return place_member(bind, whole_partition(), primary_place, number, size).place;
}

void place_team(Team &team, Bind bind, Member &outer) {
    team.bind = bind;
    if (bind != Bind::False) {
        place_root(outer);
    }
    bool is_shown = settings.display_affinity;
    if (count == 0 && !is_shown) {
        return;
    }
    bool is_any_new = false;
    for (uint32_t number = 0; number < team.size; number++) {
        Member &member = *team.members[number];
        Placement wanted = place_member(bind, outer.partition, outer.place, number, team.size);
        if (number == 0) {
            wanted.place = outer.place;
        }
        bool is_new = wanted.place != member.place || wanted.partition.first != member.partition.first ||
                      wanted.partition.count != member.partition.count;
        if (is_new && member.hot != nullptr) {
            member.hot->size = 0; // to be formed again
        }
        is_any_new = is_any_new || is_new;
        member.place = wanted.place;
        member.partition = wanted.partition;
        member.is_moved = member.thread->place != wanted.place;
    }
    for (uint32_t number = 0; is_shown && number < team.size; number++) {
        // If one of them runs elsewhere, all are shown.
        team.members[number]->is_moved = is_any_new ? SHOWN_AGAIN : SHOWN_IF_NEW;
    }
}

void place_league_member(Member &me, uint32_t size, uint32_t number) {
    const Icvs &icvs = *me.task->icvs;
    if (HRT_LIKELY(count == 0) || icvs.bind == Bind::False || size < 2) {
        return;
    }
    bool is_asked = settings.teams_bind != Bind::False;
    Bind bind = is_asked ? settings.teams_bind : Bind::Spread;
    Placement placement = place_member(bind, me.partition, me.place, number, size);
    uint32_t threads = icvs.threads < icvs.thread_limit ? icvs.threads : icvs.thread_limit;
    if (is_asked || threads <= placement.partition.count) {
        place_at(me, placement);
    }
}

void place_at(Member &me, const Placement &placement) {
    if (HRT_LIKELY(placement.place == me.place && placement.partition.first == me.partition.first &&
                   placement.partition.count == me.partition.count)) {
        return;
    }
    me.place = placement.place;
    me.partition = placement.partition;
    if (me.hot != nullptr) {
        me.hot->size = 0; // to be formed again
    }
    serial_follow(me);
    if (me.thread->place != me.place) {
        bind_to_place(me.place);
        me.thread->place = me.place;
    }
}

void settle(Member &me) {
    bool is_again = me.is_moved == SHOWN_AGAIN;
    // Who asks for that gets it for each region in which a thread is something else than before.
    me.is_moved = settings.display_affinity ? SHOWN_IF_NEW : 0;
    if (me.thread->place != me.place) {
        bind_to_place(me.place);
        me.thread->place = me.place;
    }
    if (settings.display_affinity) {
        display_affinity(me, is_again);
    }
}

void place_initial(Member &me) {
    me.partition = whole_partition();
    me.place = -1;
    me.thread->place = -1;
    me.thread->is_unplaced = count > 0 && settings.icvs.bind != Bind::False;
}

void place_root(Member &me) {
    static uint32_t roots = 0;
    Thread &thread = *me.thread;
    if (HRT_LIKELY(!thread.is_unplaced)) {
        return;
    }
    thread.is_unplaced = false;
    thread.place = static_cast<int32_t>(HRT_FETCH_ADD(&roots, 1, HRT_RELAXED) % count);
    bind_to_place(thread.place);
    // So far it may be in regions of one thread.
    Member *root = &me;
    for (Member *member = &me; member != nullptr; member = member->outer) {
        member->place = thread.place;
        root = member;
    }
    serial_follow(*root);
}

const cpu_set_t *cpus_of_place(int32_t place) {
    return place >= 0 && static_cast<uint32_t>(place) < count ? &places[place] : nullptr;
}

int32_t place_with_cpu(int cpu) {
    for (uint32_t place = 0; place < count && cpu >= 0; place++) {
        if (CPU_ISSET(static_cast<size_t>(cpu), &places[place])) {
            return static_cast<int32_t>(place);
        }
    }
    return -1;
}

int32_t cpu_of_place(int32_t place) {
    const cpu_set_t *cpus = cpus_of_place(place);
    if (cpus == nullptr || CPU_COUNT(cpus) != 1) {
        return HRT_CPU_ANY;
    }
    int cpu = 0;
    while (!CPU_ISSET(static_cast<size_t>(cpu), cpus)) {
        cpu++;
    }
    return hrt_cpu_of(cpu);
}

void bind_to_place(int32_t place) {
    const cpu_set_t *cpus = cpus_of_place(place);
    int saved = errno;
    int32_t cpu = cpu_of_place(place);
    if (cpu != HRT_CPU_ANY) {
        hrt_thread_bind(hrt_thread_self(), cpu);
    } else {
        // hadal/hrt.h binds to one CPU, or to none.
        sched_setaffinity(0, sizeof *cpus, cpus != nullptr ? cpus : &cpus_of_process());
    }
    errno = saved;
}

const cpu_set_t &cpus_of_process() {
    if (!has_process_cpus) {
        if (sched_getaffinity(0, sizeof process_cpus, &process_cpus) != 0) {
            CPU_ZERO(&process_cpus);
            for (uint32_t cpu = 0; cpu < hrt_cpu_count() && cpu < CPU_SETSIZE; cpu++) {
                CPU_SET(cpu, &process_cpus);
            }
        }
        has_process_cpus = true;
    }
    return process_cpus;
}

void clear_places() { count = 0; }

void add_place(const cpu_set_t &cpus) {
    if (CPU_COUNT(&cpus) == 0) {
        return;
    }
    if (count == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        places = static_cast<cpu_set_t *>(realloc(places, capacity * sizeof *places));
        if (places == nullptr) {
            fatal("there is no memory for a list of %u places", capacity);
        }
    }
    places[count++] = cpus;
}

size_t cpus_text(const cpu_set_t &cpus, char *text, size_t bytes) {
    size_t len = 0;
    auto is_in = [&](int cpu) { return cpu < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(cpu), &cpus); };
    if (bytes > 0) {
        *text = '\0';
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!is_in(cpu)) {
            continue;
        }
        int first = cpu;
        while (is_in(cpu + 1)) {
            cpu++;
        }
        char range[32];
        int range_len = first == cpu
                            ? snprintf(range, sizeof range, "%s%d", len > 0 ? "," : "", cpu)
                            : snprintf(range, sizeof range, "%s%d-%d", len > 0 ? "," : "", first, cpu);
        if (len < bytes) {
            snprintf(text + len, bytes - len, "%s", range);
        }
        len += static_cast<size_t>(range_len);
    }
    return len;
}

} // namespace hadal::omp
