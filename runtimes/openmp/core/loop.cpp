// SPDX-License-Identifier: Apache-2.0 OR MIT
// Loops whose chunks the run-time hands out, and ordered regions.
#include "guided.h"
#include "ranges.h"
#include "sync.h"

namespace hadal::omp {

namespace {

// The schedule that `runtime` and `auto` stand for.
void resolve(const Member &me, Loop &loop) {
    uint64_t unit = loop.is_simd && loop.chunk > 0 ? loop.chunk : 1;
    if (loop.kind == ScheduleKind::Runtime) {
        const Schedule &schedule = me.task->icvs->run_schedule;
        loop.kind = schedule.kind == ScheduleKind::Trapezoidal ? ScheduleKind::Guided : schedule.kind;
        uint64_t chunk = schedule.chunk > 0 ? static_cast<uint64_t>(schedule.chunk) : 0;
        loop.chunk = __builtin_mul_overflow(chunk, unit, &chunk) ? UINT64_MAX : chunk;
    }
    if (loop.kind == ScheduleKind::Auto) {
        loop.kind = ScheduleKind::Static;
        loop.chunk = 0;
    }
    if (loop.chunk == 0 && loop.kind != ScheduleKind::Static) {
        loop.chunk = unit;
    }
    if (loop.chunk == 0 && unit > 1) {
        // One block for each, in units.
        uint64_t units = loop.trips / unit + (loop.trips % unit != 0);
        loop.chunk = (units / me.size + (units % me.size != 0)) * unit;
    }
    // Each member may add a chunk once more when there is nothing left.
    uint64_t behind;
    loop.may_overflow = __builtin_mul_overflow(loop.chunk, me.size + 1ull, &behind) ||
                        __builtin_add_overflow(behind, loop.trips, &behind);
}

bool next_static(Member &me, const Loop &loop, Chunk *chunk) {
    uint64_t round = me.dealt++;
    if (loop.chunk == 0) {
        *chunk = static_block(loop.trips, me.size, me.number);
        return round == 0 && chunk->begin < chunk->end;
    }
    uint64_t begin;
    if (__builtin_mul_overflow(round * me.size + me.number, loop.chunk, &begin) || begin >= loop.trips) {
        return false;
    }
    uint64_t left = loop.trips - begin;
    *chunk = {begin, begin + (loop.chunk < left ? loop.chunk : left)};
    return true;
}

bool next_dynamic(Member &me, const Loop &loop, Chunk *chunk) {
    uint64_t *next = &me.workshare->next;
    uint64_t begin = HRT_LOAD(next, HRT_RELAXED);
    if (begin >= loop.trips) {
        return false;
    }
    if (me.size == 1) {
        *next = begin + (loop.chunk < loop.trips - begin ? loop.chunk : loop.trips - begin);
    } else if (HRT_LIKELY(!loop.may_overflow)) {
        begin = HRT_FETCH_ADD(next, loop.chunk, HRT_RELAXED);
        if (begin >= loop.trips) {
            return false;
        }
    } else {
        uint64_t end;
        do {
            if (begin >= loop.trips) {
                return false;
            }
            end = begin + (loop.chunk < loop.trips - begin ? loop.chunk : loop.trips - begin);
        } while (!HRT_CAS(next, &begin, end, HRT_RELAXED));
    }
    uint64_t left = loop.trips - begin;
    *chunk = {begin, begin + (loop.chunk < left ? loop.chunk : left)};
    return true;
}

} // namespace

bool loop_begin(Member &me, const Loop &loop) {
    if (!workshare_enter(me)) {
        return false;
    }
    Loop &own = me.workshare->loop;
    own = loop;
    resolve(me, own);
    own.has_ranges = own.kind == ScheduleKind::Dynamic && ranges_fit(me, own);
    if (own.has_ranges) {
        ranges_deal(me, own);
    }
    return true;
}

void loop_enter(Member &me, const Loop &loop) {
    if (loop_begin(me, loop)) {
        workshare_publish(me);
    }
}

bool loop_next(Member &me, Chunk *chunk) {
    Workshare &workshare = *me.workshare;
    if (HRT_UNLIKELY(HRT_LOAD(&workshare.is_cancelled, HRT_RELAXED) != 0)) {
        return false;
    }
    switch (workshare.loop.kind) {
    case ScheduleKind::Static:
        return next_static(me, workshare.loop, chunk);
    case ScheduleKind::Guided:
        return guided_next(workshare, me.size, workshare.loop.is_simd ? workshare.loop.chunk : 1, chunk);
    default:
        if (workshare.loop.has_ranges) {
            return ranges_next(me, workshare.loop, chunk);
        }
        return next_dynamic(me, workshare.loop, chunk);
    }
}

Chunk static_block(uint64_t trips, uint32_t members, uint32_t number) {
    uint64_t each = trips / members, larger = trips % members;
    uint64_t begin = number * each + (number < larger ? number : larger);
    return {begin, begin + each + (number < larger)};
}

uint64_t trips_of(int64_t first, int64_t end, int64_t step) {
    if (step > 0) {
        return trips_of_unsigned(true, static_cast<uint64_t>(first) ^ 1ull << 63,
                                 static_cast<uint64_t>(end) ^ 1ull << 63, static_cast<uint64_t>(step));
    }
    return trips_of_unsigned(false, static_cast<uint64_t>(first) ^ 1ull << 63,
                             static_cast<uint64_t>(end) ^ 1ull << 63, static_cast<uint64_t>(step));
}

uint64_t trips_of_unsigned(bool is_up, uint64_t first, uint64_t end, uint64_t step) {
    if (is_up) {
        return first < end ? (end - first - 1) / step + 1 : 0;
    }
    return first > end ? (first - end - 1) / (0 - step) + 1 : 0;
}

void ordered_await(Member &me, uint64_t position) {
    uint64_t *ordered = &me.workshare->ordered;
    await(me, [&] { return HRT_LOAD(ordered, HRT_ACQUIRE) >= position; });
}

void ordered_pass(Member &me, uint64_t begin, uint64_t end) {
    ordered_await(me, begin);
    if (me.size == 1) {
        me.workshare->ordered = end;
        return;
    }
    HRT_EXCHANGE(&me.workshare->ordered, end, HRT_SEQ_CST);
    if (has_sleepers(*me.team)) {
        notify_all(*me.team);
    }
}

} // namespace hadal::omp
