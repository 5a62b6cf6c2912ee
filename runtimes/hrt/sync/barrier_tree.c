// SPDX-License-Identifier: Apache-2.0 OR MIT
// The stations of a tree barrier: the ranks of a core meet first, then the cores of a socket, the sockets of
// a zone, the zones. Groups larger than FAN_IN are cut, so that even 64 CPUs without any structure share no
// line.
#include <hadal/hrt/topology.h>

#include "wait.h"

#define FAN_IN 4

enum level { LEVEL_CORE, LEVEL_SOCKET, LEVEL_ZONE, LEVEL_MACHINE, LEVELS };

// A rank, or the station at which some ranks have met already.
struct unit {
    struct hrt_cpu_info place; // of its first rank
    uint32_t rank;
    struct hrt_barrier_station *station; // NULL: the rank alone
};

struct planting {
    hrt_barrier_t *barrier;
    struct unit *units;
    uint32_t count;
};

static bool is_same_group(const struct hrt_cpu_info *a, const struct hrt_cpu_info *b, enum level level) {
    switch (level) {
    case LEVEL_CORE:
        return a->zone == b->zone && a->socket == b->socket && a->core == b->core;
    case LEVEL_SOCKET:
        return a->zone == b->zone && a->socket == b->socket;
    case LEVEL_ZONE:
        return a->zone == b->zone;
    default:
        return true;
    }
}

static bool is_before(const struct unit *a, const struct unit *b) {
    const struct hrt_cpu_info *left = &a->place;
    const struct hrt_cpu_info *right = &b->place;
    if (left->zone != right->zone) {
        return left->zone < right->zone;
    }
    if (left->socket != right->socket) {
        return left->socket < right->socket;
    }
    if (left->core != right->core) {
        return left->core < right->core;
    }
    return a->rank < b->rank;
}

static void sift_down(struct unit *units, uint32_t root, uint32_t count) {
    for (uint32_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_before(&units[child], &units[child + 1])) {
            child++;
        }
        if (!is_before(&units[root], &units[child])) {
            return;
        }
        struct unit other = units[root];
        units[root] = units[child];
        units[child] = other;
    }
}

// Heap sort: libhrt has no qsort, since a program without libc uses it too.
static void sort(struct unit *units, uint32_t count) {
    for (uint32_t root = count / 2; root-- > 0;) {
        sift_down(units, root, count);
    }
    for (uint32_t end = count; end-- > 1;) {
        struct unit largest = units[0];
        units[0] = units[end];
        units[end] = largest;
        sift_down(units, 0, end);
    }
}

static int find_places(struct planting *planting, const uint32_t *cpus) {
    uint32_t cpu_count = hrt_cpu_count();
    for (uint32_t rank = 0; rank < planting->count; rank++) {
        struct unit *unit = &planting->units[rank];
        unit->rank = rank;
        unit->station = NULL;
        int status = hrt_cpu_info(cpus != NULL ? cpus[rank] : rank % cpu_count, &unit->place);
        if (status != HRT_OK) {
            return status;
        }
    }
    return HRT_OK;
}

static struct unit meet(hrt_barrier_t *barrier, const struct unit *members, uint32_t count) {
    uint32_t number = barrier->station_count++;
    struct hrt_barrier_station *station = &barrier->stations[number];
    station->need = count;
    for (uint32_t member = 0; member < count; member++) {
        if (members[member].station != NULL) {
            members[member].station->parent = station;
        } else {
            barrier->leaves[members[member].rank] = (uint16_t)number;
        }
    }
    struct unit met = members[0];
    met.station = station;
    return met;
}

// Lets neighbours of one group meet, at most FAN_IN together; true while there is more to join at this level.
static bool join_groups(struct planting *planting, enum level level) {
    struct unit *units = planting->units;
    uint32_t joined = 0;
    uint32_t end;
    for (uint32_t begin = 0; begin < planting->count; begin = end) {
        end = begin + 1;
        while (end < planting->count && end - begin < FAN_IN &&
               is_same_group(&units[begin].place, &units[end].place, level)) {
            end++;
        }
        units[joined++] =
            end - begin > 1 ? meet(planting->barrier, &units[begin], end - begin) : units[begin];
    }
    bool progress = joined < planting->count;
    planting->count = joined;
    return progress;
}

int hrt_barrier_plant(hrt_barrier_t *barrier, const uint32_t *cpus) {
    uint64_t ranks = barrier->participants;
    // Each station joins at least two units into one, so there are fewer stations than ranks.
    uint64_t station_bytes = ranks * sizeof(struct hrt_barrier_station);
    uint64_t bytes = station_bytes + ranks * sizeof(uint16_t);
    struct planting planting = {.barrier = barrier, .count = barrier->participants};
    barrier->stations = hrt_calls->alloc(bytes, HRT_CACHE_LINE, HRT_ZONE_ANY, 0);
    planting.units = hrt_calls->alloc(ranks * sizeof(struct unit), _Alignof(struct unit), HRT_ZONE_ANY, 0);
    int status = HRT_ENOMEM;
    if (barrier->stations != NULL && planting.units != NULL) {
        __builtin_memset(barrier->stations, 0, bytes);
        barrier->leaves = (uint16_t *)((char *)barrier->stations + station_bytes);
        status = find_places(&planting, cpus);
    }
    if (status == HRT_OK) {
        sort(planting.units, planting.count);
        for (enum level level = LEVEL_CORE; level < LEVELS; level++) {
            while (join_groups(&planting, level)) {
            }
        }
        if (barrier->station_count == 0) {
            meet(barrier, planting.units, 1);
        }
    }
    if (planting.units != NULL) {
        hrt_calls->free(planting.units);
    }
    if (status != HRT_OK && barrier->stations != NULL) {
        hrt_calls->free(barrier->stations);
        barrier->stations = NULL;
    }
    return status;
}
