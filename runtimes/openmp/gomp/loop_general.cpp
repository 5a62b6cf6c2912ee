// SPDX-License-Identifier: Apache-2.0 OR MIT
// The beginnings of loops, sections and scopes that have something besides chunks: task reductions, memory
// that the members share (`lastprivate(conditional: ...)`), or ordered dependences (doacross).
#include <cstdlib>

#include "core/doacross.h"
#include "loop.h"
#include "reduction.h"
#include "sections.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

constexpr long MONOTONIC = 1l << 31;

// What a construct has besides chunks. A member's copy is filled in by the first member, or from its
// descriptor.
struct Extras {
    uintptr_t *reductions = nullptr;
    void **memory = nullptr; // in: bytes; out: zeroed memory
    uint32_t dimensions = 0;
    const uint64_t *counts = nullptr;
};

ScheduleKind kind_of(long schedule) {
    long kind = schedule & ~MONOTONIC & INT32_MAX;
    if (kind > static_cast<long>(ScheduleKind::Auto)) {
        fatal("a loop has an unknown schedule: %ld", kind);
    }
    return static_cast<ScheduleKind>(kind);
}

void fill_in(Member &me, const Extras &extras) {
    Workshare &workshare = *me.workshare;
    if (extras.memory != nullptr) {
        size_t bytes = reinterpret_cast<size_t>(*extras.memory);
        workshare.shared = calloc(1, bytes > 0 ? bytes : 1);
        if (workshare.shared == nullptr) {
            fatal("there is no memory for %zu bytes of a worksharing construct", bytes);
        }
    }
    if (extras.reductions != nullptr) {
        reductions_share(me, extras.reductions);
    }
    if (extras.dimensions > 0 && me.size > 1) {
        workshare.doacross = doacross_new(extras.dimensions, extras.counts);
    }
}

void enter(Member &me, const Loop &loop, const Extras &extras, ompt::WorkKind kind) {
    if (ompt::is_on()) {
        ompt::work_begin(me, kind, loop.trips);
    }
    if (loop_begin(me, loop)) {
        fill_in(me, extras);
        workshare_publish(me);
    }
    if (extras.memory != nullptr) {
        *extras.memory = me.workshare->shared;
    }
    if (extras.reductions != nullptr) {
        reductions_join(me, extras.reductions);
    }
}

// Without a place for chunks the compiler deals out the iterations by itself.
bool start_general(const Loop &loop, const Extras &extras, uint64_t *begin, uint64_t *end) {
    Member &me = self();
    enter(me, for_team(me, loop), extras, ompt::WorkKind::Loop);
    if (begin == nullptr) {
        return true;
    }
    return loop.is_ordered ? first_ordered(me, begin, end) : next(me, begin, end);
}

// `counts`: iterations by dimension, of which the outermost are dealt out.
bool start_doacross(unsigned dimensions, const uint64_t *counts, ScheduleKind kind, ull chunk, Extras extras,
                    uint64_t *begin, uint64_t *end) {
    extras.dimensions = dimensions;
    extras.counts = counts;
    return start_general(scheduled_ull(loop_of(counts[0]), kind, chunk), extras, begin, end);
}

ull chunk_of(long chunk) { return chunk > 0 ? static_cast<ull>(chunk) : 0; }
ull chunk_of(ull chunk) { return chunk; }

} // namespace

OMP_EXPORT bool GOMP_loop_start(long first, long end, long step, long schedule, long chunk, long *chunk_begin,
                                long *chunk_end, uintptr_t *reductions, void **memory) {
    OMPT_ENTRY();
    return start_general(scheduled(loop_of(first, end, step), kind_of(schedule), chunk), {reductions, memory},
                         word(chunk_begin), word(chunk_end));
}

OMP_EXPORT bool GOMP_loop_ull_start(bool is_up, ull first, ull end, ull step, long schedule, ull chunk,
                                    ull *chunk_begin, ull *chunk_end, uintptr_t *reductions, void **memory) {
    OMPT_ENTRY();
    return start_general(scheduled_ull(loop_of(is_up, first, end, step), kind_of(schedule), chunk),
                         {reductions, memory}, word(chunk_begin), word(chunk_end));
}

OMP_EXPORT bool GOMP_loop_ordered_start(long first, long end, long step, long schedule, long chunk,
                                        long *chunk_begin, long *chunk_end, uintptr_t *reductions,
                                        void **memory) {
    OMPT_ENTRY();
    return start_general(ordered(scheduled(loop_of(first, end, step), kind_of(schedule), chunk)),
                         {reductions, memory}, word(chunk_begin), word(chunk_end));
}

OMP_EXPORT bool GOMP_loop_ull_ordered_start(bool is_up, ull first, ull end, ull step, long schedule,
                                            ull chunk, ull *chunk_begin, ull *chunk_end,
                                            uintptr_t *reductions, void **memory) {
    OMPT_ENTRY();
    return start_general(ordered(scheduled_ull(loop_of(is_up, first, end, step), kind_of(schedule), chunk)),
                         {reductions, memory}, word(chunk_begin), word(chunk_end));
}

// Loops with ordered dependences, for iteration counts of both types.
#define DOACROSS(infix, type)                                                                                \
    OMP_EXPORT bool GOMP_loop_##infix##doacross_start(unsigned dimensions, type *counts, long schedule,      \
                                                      type chunk, type *chunk_begin, type *chunk_end,        \
                                                      uintptr_t *reductions, void **memory) {                \
        OMPT_ENTRY();                                                                                        \
        return start_doacross(dimensions, word(counts), kind_of(schedule), chunk_of(chunk),                  \
                              {reductions, memory}, word(chunk_begin), word(chunk_end));                     \
    }                                                                                                        \
    OMP_EXPORT bool GOMP_loop_##infix##doacross_runtime_start(unsigned dimensions, type *counts,             \
                                                              type *chunk_begin, type *chunk_end) {          \
        OMPT_ENTRY();                                                                                        \
        return start_doacross(dimensions, word(counts), ScheduleKind::Runtime, 0, {}, word(chunk_begin),     \
                              word(chunk_end));                                                              \
    }                                                                                                        \
    DOACROSS_SCHEDULE(infix, type, static, ScheduleKind::Static)                                             \
    DOACROSS_SCHEDULE(infix, type, dynamic, ScheduleKind::Dynamic)                                           \
    DOACROSS_SCHEDULE(infix, type, guided, ScheduleKind::Guided)
#define DOACROSS_SCHEDULE(infix, type, name, kind)                                                           \
    OMP_EXPORT bool GOMP_loop_##infix##doacross_##name##_start(                                              \
        unsigned dimensions, type *counts, type chunk, type *chunk_begin, type *chunk_end) {                 \
        OMPT_ENTRY();                                                                                        \
        return start_doacross(dimensions, word(counts), kind, chunk_of(chunk), {}, word(chunk_begin),        \
                              word(chunk_end));                                                              \
    }

DOACROSS(, long)
DOACROSS(ull_, ull)

OMP_EXPORT unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory) {
    OMPT_ENTRY();
    Member &me = self();
    enter(me, sections_of(count), {reductions, memory}, ompt::WorkKind::Sections);
    return next_section(me);
}

// A scope has nothing to hand out, and no end: what it has is its reductions.
OMP_EXPORT void GOMP_scope_start(uintptr_t *reductions) {
    Member &me = self();
    if (workshare_enter(me)) {
        reductions_share(me, reductions);
        workshare_publish(me);
    }
    reductions_join(me, reductions);
    workshare_leave(me);
}
