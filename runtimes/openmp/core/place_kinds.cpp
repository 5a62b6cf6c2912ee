// SPDX-License-Identifier: Apache-2.0 OR MIT
// Places by what the machine is made of: hardware threads, cores, what shares the last cache, NUMA domains,
// sockets.
#include "places.h"

#include <cstdio>

#include "team.h"

namespace hadal::omp {

namespace {

const char *kind_name;

// CPUs that KMP_HW_SUBSET leaves to the program.
cpu_set_t subset_cpus;
uint32_t subset_cpu_count; // 0: there is no such variable

// The system's number of each CPU that hadal/hrt.h numbers without gaps.
uint32_t system_numbers(int *numbers) {
    uint32_t count = hrt_cpu_count(), found = 0;
    const cpu_set_t &cpus = cpus_of_process();
    bool is_same = static_cast<uint32_t>(CPU_COUNT(&cpus)) == count;
    for (int cpu = 0; cpu < CPU_SETSIZE && found < count; cpu++) {
        if (!is_same || CPU_ISSET(static_cast<size_t>(cpu), &cpus)) {
            numbers[found++] = cpu;
        }
    }
    return found;
}

// The first CPU that shares the CPU's last cache of data.
uint32_t last_cache(uint32_t cpu) {
    struct hrt_cache_info info;
    uint32_t level = 0, first = cpu;
    for (uint32_t index = 0; hrt_cache_info(cpu, index, &info) == HRT_OK; index++) {
        if (info.kind != HRT_CACHE_INSTRUCTION && info.level >= level) {
            level = info.level;
            first = info.first_cpu;
        }
    }
    return first;
}

// Two CPUs belong to the same place if this is the same for both.
struct Group {
    uint32_t outer = 0, inner = 0;
    bool operator==(const Group &) const = default;
};

Group group_of(PlaceKind kind, uint32_t cpu) {
    struct hrt_cpu_info info;
    if (hrt_cpu_info(cpu, &info) != HRT_OK) {
        return {UINT32_MAX, cpu};
    }
    switch (kind) {
    case PlaceKind::Cores:
        return {info.socket, info.core};
    case PlaceKind::Caches:
        return {0, last_cache(cpu)};
    case PlaceKind::NumaDomains:
        return {0, info.zone};
    case PlaceKind::Sockets:
        return {0, info.socket};
    case PlaceKind::Threads:
        break;
    }
    return {0, cpu};
}

// How many different values of `of` come before that of `cpu` among the CPUs that are its equals by
// `is_near`.
template <typename Near, typename Of> uint32_t rank(uint32_t cpu, uint32_t cpus, Near is_near, Of of) {
    uint32_t before = 0;
    for (uint32_t other = 0; other < cpus; other++) {
        bool counts = is_near(other) && of(other) < of(cpu);
        for (uint32_t earlier = 0; counts && earlier < other; earlier++) {
            counts = !is_near(earlier) || of(earlier) != of(other);
        }
        before += counts ? 1 : 0;
    }
    return before;
}

const char *name_of(PlaceKind kind) {
    switch (kind) {
    case PlaceKind::Threads:
        return "threads";
    case PlaceKind::Cores:
        return "cores";
    case PlaceKind::Caches:
        return "ll_caches";
    case PlaceKind::NumaDomains:
        return "numa_domains";
    case PlaceKind::Sockets:
        break;
    }
    return "sockets";
}

} // namespace

const char *place_kind_name() { return kind_name; }

bool use_subset(const Subset &subset) {
    static int numbers[CPU_SETSIZE];
    static struct hrt_cpu_info infos[CPU_SETSIZE];
    uint32_t cpus = system_numbers(numbers);
    CPU_ZERO(&subset_cpus);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        if (hrt_cpu_info(cpu, &infos[cpu]) != HRT_OK) {
            return false;
        }
    }
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        const struct hrt_cpu_info &info = infos[cpu];
        auto is_any = [](uint32_t) { return true; };
        auto is_in_socket = [&](uint32_t other) { return infos[other].socket == info.socket; };
        auto is_in_core = [&](uint32_t other) {
            return infos[other].socket == info.socket && infos[other].core == info.core;
        };
        uint32_t ranks[] = {rank(cpu, cpus, is_any, [&](uint32_t other) { return infos[other].socket; }),
                            rank(cpu, cpus, is_in_socket, [&](uint32_t other) { return infos[other].core; }),
                            rank(cpu, cpus, is_in_core, [&](uint32_t other) { return other; })};
        bool is_in = true;
        for (uint32_t unit = 0; unit < 3; unit++) {
            auto [first, count] = subset.ranges[unit];
            is_in = is_in && ranks[unit] >= first && ranks[unit] - first < count;
        }
        if (is_in) {
            CPU_SET(static_cast<size_t>(numbers[cpu]), &subset_cpus);
        }
    }
    subset_cpu_count = static_cast<uint32_t>(CPU_COUNT(&subset_cpus));
    return subset_cpu_count != 0;
}

bool has_subset() { return subset_cpu_count != 0; }
uint32_t usable_cpu_count() { return subset_cpu_count != 0 ? subset_cpu_count : hrt_cpu_count(); }
bool is_usable(int cpu) {
    return CPU_ISSET(static_cast<size_t>(cpu), subset_cpu_count != 0 ? &subset_cpus : &cpus_of_process());
}

void set_places(PlaceKind kind, uint32_t limit) {
    static int numbers[CPU_SETSIZE];
    static Group groups[CPU_SETSIZE];
    static bool is_placed[CPU_SETSIZE];
    uint32_t cpus = system_numbers(numbers);
    for (uint32_t cpu = 0; cpu < cpus; cpu++) {
        groups[cpu] = group_of(kind, cpu);
        is_placed[cpu] = has_subset() && !is_usable(numbers[cpu]);
    }
    kind_name = name_of(kind);
    clear_places();
    // Places that are near each other are next to each other: sockets one by one, and their cores in order.
    for (;;) {
        uint32_t next = CPU_SETSIZE;
        for (uint32_t cpu = 0; cpu < cpus; cpu++) {
            if (!is_placed[cpu] && (next == CPU_SETSIZE || groups[cpu].outer < groups[next].outer)) {
                next = cpu;
            }
        }
        if (next == CPU_SETSIZE || (limit != 0 && place_count() == limit)) {
            break;
        }
        cpu_set_t place;
        CPU_ZERO(&place);
        for (uint32_t cpu = next; cpu < cpus; cpu++) {
            if (groups[cpu] == groups[next] && !is_placed[cpu]) {
                CPU_SET(static_cast<size_t>(numbers[cpu]), &place);
                is_placed[cpu] = true;
            }
        }
        add_place(place);
    }
    if (limit > place_count()) {
        warn("OMP_PLACES asks for %u places, the machine has %u", limit, place_count());
    }
}

} // namespace hadal::omp
