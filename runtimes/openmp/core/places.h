// SPDX-License-Identifier: Apache-2.0 OR MIT
// Places: the sets of CPUs that threads are bound to (OMP_PLACES), and which member of a team gets which
// (OpenMP 5.2, section 10.1.3).
#ifndef HADAL_OMP_PLACES_H
#define HADAL_OMP_PLACES_H

#include <cstddef>
#include <cstdint>
#include <sched.h>

#include "icv.h"

namespace hadal::omp {

struct Member;
struct Team;

struct Placement {
    int32_t place = -1; // -1: the member is not bound
    Partition partition;
};

// 0: threads are not to be bound.
uint32_t place_count();
// All places.
Partition whole_partition();

// Where member `number` of a team of `size` belongs: `partition` is that of the task that meets the parallel
// construct, `primary_place` where its thread is (-1: nowhere in particular). The members' implicit tasks get
// the partition that is returned.
Placement place_member(Bind bind, Partition partition, int32_t primary_place, uint32_t number, uint32_t size);
// The same where the partition is the whole list.
int32_t place_of_member(Bind bind, int32_t primary_place, uint32_t number, uint32_t size);

// Says where the members of a team belong that `outer` is the primary member of. Their threads go there by
// `settle`.
void place_team(Team &team, Bind bind, Member &outer);
// Where the initial thread of a team of a league belongs, as KMP_TEAMS_PROC_BIND says; without that, in a
// part of the places of its own if its threads have room there: the teams run one after the other. And takes
// it there.
void place_league_member(Member &me, uint32_t size, uint32_t number);
// Takes a member outside of regions to a place.
void place_at(Member &me, const Placement &placement);
// By a member that has been moved: binds its thread, and shows that if the program asks for it.
void settle(Member &me);
// A thread of the program that the run-time gets to know: it stays where it is.
void place_initial(Member &me);
// Before its first region of several threads, or when the program asks where it is, it goes to a place: the
// first thread to the first one, others to the next ones.
void place_root(Member &me);
// Where the member's thread runs, to standard output, if that is not what the thread has shown last, or
// again (api/affinity_format.cpp).
void display_affinity(const Member &me, bool is_again);

// The number (of hadal/hrt.h) of the only CPU of a place; HRT_CPU_ANY if it has several, or is none.
int32_t cpu_of_place(int32_t place);
// Binds the calling thread to all CPUs of a place; -1: to those that the process may use.
void bind_to_place(int32_t place);

// CPUs of a place in the system's numbers; null: no such place.
const cpu_set_t *cpus_of_place(int32_t place);
// A place that has this CPU (system's number), or -1.
int32_t place_with_cpu(int cpu);
// The CPUs that the process may use, as it found them.
const cpu_set_t &cpus_of_process();

enum class PlaceKind { Threads, Cores, Caches, NumaDomains, Sockets };

// The list's name in OMP_PLACES, such as cores; null: it was given place by place, or there is none.
const char *place_kind_name();

// The part of the machine that the program is to use: of each unit the first that counts, and how many.
// Numbers begin at 0 in each unit above.
enum class SubsetUnit : uint32_t { Socket, Core, Thread };
struct Subset {
    struct {
        uint32_t first = 0, count = UINT32_MAX;
    } ranges[3];
};
// False, and no effect, if there is no CPU in it.
bool use_subset(const Subset &subset);
bool has_subset();
// The CPUs of the process that are in the subset: how many there are, and whether this one is (system's
// number).
uint32_t usable_cpu_count();
bool is_usable(int cpu);

// The list from the topology, at most `limit` places (0: all).
void set_places(PlaceKind kind, uint32_t limit);
// From the value of OMP_PLACES; false, and nothing, if it is not one.
bool set_places(const char *text);
// One CPU each, from a list such as 0 3 1-2 4-15:2 (GOMP_CPU_AFFINITY, and KMP_AFFINITY's proclist).
bool set_places_by_cpu(const char *text);

// For place_text.cpp and place_kinds.cpp: forgets all places; adds one, which may be empty (then it does not
// count).
void clear_places();
void add_place(const cpu_set_t &cpus);

// A set in the form 0-3,8; returns the length that it has, as snprintf.
size_t cpus_text(const cpu_set_t &cpus, char *text, size_t bytes);

} // namespace hadal::omp

#endif
