// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loops whose chunks the run-time hands out: dynamic, guided and run-time schedules, and all ordered loops.
#include "ident.h"
#include "leave.h"
#include "static_init.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

ScheduleKind kind_of(int32_t schedule) {
    switch (schedule) {
    case KMP_STATIC:
    case KMP_STATIC_CHUNKED:
    case KMP_STATIC_GREEDY:
    case KMP_STATIC_BALANCED:
    case KMP_STATIC_BALANCED_CHUNKED:
        return ScheduleKind::Static;
    case KMP_DYNAMIC:
    case KMP_STATIC_STEAL:
        return ScheduleKind::Dynamic;
    case KMP_GUIDED:
    case KMP_GUIDED_ITERATIVE:
    case KMP_GUIDED_ANALYTICAL:
    case KMP_GUIDED_SIMD:
    case KMP_TRAPEZOIDAL:
        return ScheduleKind::Guided;
    case KMP_RUNTIME:
    case KMP_RUNTIME_SIMD:
        return ScheduleKind::Runtime;
    case KMP_AUTO:
        return ScheduleKind::Auto;
    default:
        fatal("dispatch_init: there is no schedule %d", schedule);
    }
}

// Whether the clause's chunk means something: compilers pass 1 where there is none.
bool has_chunk(int32_t schedule) {
    return schedule != KMP_STATIC && schedule != KMP_STATIC_BALANCED && schedule != KMP_AUTO;
}

template <typename Value>
void init(int32_t schedule, Value lower, Value upper, std::make_signed_t<Value> step,
          std::make_signed_t<Value> chunk) {
    Member &me = self();
    leave(me); // a loop that has been cancelled
    KmpScheduleParts parts = parts_of(schedule);
    Loop loop;
    std::make_unsigned_t<Value> last;
    if (last_position(lower, upper, step, &last)) {
        loop.trips = static_cast<uint64_t>(last) + 1;
        if (loop.trips == 0) {
            fatal("a loop has 2^64 iterations");
        }
    }
    loop.first = static_cast<uint64_t>(lower);
    loop.step = static_cast<uint64_t>(static_cast<int64_t>(step));
    loop.end = static_cast<uint64_t>(upper) + loop.step;
    loop.kind = kind_of(parts.schedule);
    loop.chunk = chunk > 0 && has_chunk(parts.schedule) ? static_cast<uint64_t>(chunk) : 0;
    loop.is_ordered = parts.is_ordered;
    loop.is_nonmonotonic = parts.is_nonmonotonic;
    loop.is_simd = parts.schedule == KMP_GUIDED_SIMD || parts.schedule == KMP_RUNTIME_SIMD;
    if (me.size == 1) {
        loop.kind = ScheduleKind::Static;
        loop.chunk = 0;
    }
    if (ompt::is_on()) {
        ompt::work_begin(me, ompt::WorkKind::Loop, loop.trips);
    }
    loop_enter(me, loop);
}

// Tells the caller its chunk. `is_last` and `step` may be null.
template <typename Value>
inline int32_t tell(const Loop &loop, const Chunk &chunk, int32_t *is_last, Value *lower, Value *upper,
                    std::make_signed_t<Value> *step) {
    *lower = static_cast<Value>(loop.first + chunk.begin * loop.step);
    *upper = static_cast<Value>(loop.first + (chunk.end - 1) * loop.step);
    if (step != nullptr) {
        *step = static_cast<std::make_signed_t<Value>>(loop.step);
    }
    if (is_last != nullptr) {
        *is_last = chunk.end == loop.trips;
    }
    return 1;
}

// The entry points jump here, so that they need no stack: the return address is the program's.
template <typename Value>
[[gnu::noinline]] int32_t next_slow(int32_t *is_last, Value *lower, Value *upper,
                                    std::make_signed_t<Value> *step) {
    Member &me = self();
    Workshare *workshare = me.workshare;
    if (workshare != nullptr && loop_next(me, &me.chunk)) {
        return tell(workshare->loop, me.chunk, is_last, lower, upper, step);
    }
    if (workshare != nullptr) {
        leave(me);
    }
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_close(me);
    }
    return 0;
}

template <typename Value>
inline int32_t next(int32_t *is_last, Value *lower, Value *upper, std::make_signed_t<Value> *step) {
    Member &me = *current; // whoever asks for a chunk has begun the loop, so it has a member
    uint64_t begin, end;
    if (HRT_UNLIKELY(!loop_next_ready(me, &begin, &end))) {
        return next_slow(is_last, lower, upper, step);
    }
    uint64_t loop_step = me.workshare->loop.step;
    *lower = static_cast<Value>(begin);
    *upper = static_cast<Value>(end - loop_step);
    if (step != nullptr) {
        *step = static_cast<std::make_signed_t<Value>>(loop_step);
    }
    if (is_last != nullptr) {
        *is_last = 0;
    }
    return 1;
}

// One iteration of the member's chunk is over. If it had no ordered region, those behind it need not wait for
// one.
void end_iteration() {
    Member &me = self();
    Workshare *workshare = me.workshare;
    if (me.size == 1 || workshare == nullptr || !workshare->loop.is_ordered) {
        return;
    }
    uint64_t position = me.chunk.begin++;
    if (HRT_LOAD(&workshare->ordered, HRT_RELAXED) <= position) {
        ordered_pass(me, position, position + 1);
    }
}

// `distribute parallel for` in one: the block of the caller's team is what its members share.
template <typename Value>
void init_both(int32_t schedule, int32_t *is_last, Value lower, Value upper, std::make_signed_t<Value> step,
               std::make_signed_t<Value> chunk) {
    const Team &league = league_of(*self().team);
    deal<Value>({is_last, &lower, &upper, nullptr, step, 0}, KMP_DISTRIBUTE, league.league_size,
                league.league_number);
    init<Value>(schedule, lower, upper, step, chunk);
}

} // namespace

#define DISPATCH(SUFFIX, VALUE, SIGNED)                                                                      \
    OMP_EXPORT void __kmpc_dispatch_init_##SUFFIX(const Ident *, Gtid, int32_t schedule, VALUE lower,        \
                                                  VALUE upper, SIGNED step, SIGNED chunk) {                  \
        OMPT_ENTRY();                                                                                        \
        init<VALUE>(schedule, lower, upper, step, chunk);                                                    \
    }                                                                                                        \
    OMP_EXPORT void __kmpc_dist_dispatch_init_##SUFFIX(const Ident *, Gtid, int32_t schedule,                \
                                                       int32_t *is_last, VALUE lower, VALUE upper,           \
                                                       SIGNED step, SIGNED chunk) {                          \
        OMPT_ENTRY();                                                                                        \
        init_both<VALUE>(schedule, is_last, lower, upper, step, chunk);                                      \
    }                                                                                                        \
    OMP_EXPORT int32_t __kmpc_dispatch_next_##SUFFIX(const Ident *, Gtid, int32_t *is_last, VALUE *lower,    \
                                                     VALUE *upper, SIGNED *step) {                           \
        return next<VALUE>(is_last, lower, upper, step);                                                     \
    }                                                                                                        \
    OMP_EXPORT void __kmpc_dispatch_fini_##SUFFIX(const Ident *, Gtid) { end_iteration(); }

DISPATCH(4, int32_t, int32_t)
DISPATCH(4u, uint32_t, int32_t)
DISPATCH(8, int64_t, int64_t)
DISPATCH(8u, uint64_t, int64_t)

// Behind the loop, by newer compilers; the member has left it when there were no more chunks, unless it is
// cancelled.
OMP_EXPORT void __kmpc_dispatch_deinit(const Ident *, Gtid) { leave(self()); }
