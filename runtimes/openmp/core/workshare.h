// SPDX-License-Identifier: Apache-2.0 OR MIT
// Worksharing constructs whose members have to agree on something: loops that hand out chunks, sections,
// copyprivate.
//
// A team has a ring of descriptors. Members meet its constructs in the same order; the n-th uses descriptor
// n modulo WORKSHARES, which the first member to come fills in and the last to leave frees. So fast members
// may be several constructs ahead (nowait), and nothing is allocated.
#ifndef HADAL_OMP_WORKSHARE_H
#define HADAL_OMP_WORKSHARE_H

#include <cstddef>
#include <cstdint>

#include "icv.h"

namespace hadal::omp {

struct Member;
struct Team;

inline constexpr uint32_t WORKSHARES = 8;

// A loop in positions 0..trips. The iteration variable at position p is first + p * step, modulo 2^64.
struct Loop {
    uint64_t trips = 0;
    uint64_t first = 0;
    uint64_t step = 1;
    uint64_t end = 0;   // the program's bound: what a chunk's upper bound is if it is the last
    uint64_t chunk = 1; // `is_simd` and kind Runtime: the unit
    ScheduleKind kind = ScheduleKind::Dynamic;
    bool is_ordered = false;
    bool is_nonmonotonic = false; // a member may get chunks in any order
    bool is_simd = false;         // chunks are multiples of a unit
    bool has_ranges = false;      // each member has positions of its own first (ranges.h)
    bool may_overflow = false;    // positions added behind the end could pass 2^64
};

struct alignas(64) Workshare {
    uint64_t state = 0; // which construct, and how far it is (workshare.cpp)
    Loop loop;
    void *shared = nullptr; // memory that the members share, freed with the descriptor
    void *reductions = nullptr;
    struct Doacross *doacross = nullptr;
    void *copy = nullptr; // copyprivate: where the one that executed has its data
    uint32_t is_cancelled = 0;
    alignas(64) uint64_t next = 0;    // position that nobody has taken yet
    alignas(64) uint64_t ordered = 0; // positions whose ordered regions are over
    alignas(64) uint32_t left = 0;    // members that have left
};

// Positions [begin, end).
struct Chunk {
    uint64_t begin, end;
};

// Begins the member's next worksharing construct. Returns true to the first member: it fills in the
// descriptor `me.workshare` and calls `workshare_publish`; to others it is ready.
bool workshare_enter(Member &me);
void workshare_publish(Member &me);
// The member is done with `me.workshare`.
void workshare_leave(Member &me);

// Begins a loop; the first to come decides the parameters. A `Runtime` or `Auto` kind is resolved here.
void loop_enter(Member &me, const Loop &loop);
// The same for loops that have more in their descriptor than chunks: as `workshare_enter`.
bool loop_begin(Member &me, const Loop &loop);

// The turn of an ordered region that begins at this position, and its end.
void ordered_await(Member &me, uint64_t position);
void ordered_pass(Member &me, uint64_t begin, uint64_t end);

// Iterations of a loop from `first` to `end` (not included) by steps of `step`, signed or not.
uint64_t trips_of(int64_t first, int64_t end, int64_t step);
uint64_t trips_of_unsigned(bool is_up, uint64_t first, uint64_t end, uint64_t step);

// The block of member `number` if `trips` are dealt out in `members` blocks that differ by one at most, the
// larger ones first: what compilers do by themselves for schedule(static).
Chunk static_block(uint64_t trips, uint32_t members, uint32_t number);

// Makes a descriptor ready for the construct with this number; all of a team's for its first.
void workshare_reset(Workshare &workshare, uint64_t number);
void workshares_reset(Team &team);

// Whether the caller executes the `single` region.
bool single_enter(Member &me);

} // namespace hadal::omp

#endif
