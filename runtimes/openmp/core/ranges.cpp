// SPDX-License-Identifier: Apache-2.0 OR MIT
// Ranges of positions, and stealing from them.
//
// Only its member makes an empty range one that is not; no position comes back into any range. So whoever
// finds a range as it has seen it may replace it, and who finds all ranges empty has nothing left to do: what
// is in none belongs to the member that has just taken it.
#include "ranges.h"

#include "sync.h"

namespace hadal::omp {

namespace {

uint64_t pack(uint64_t begin, uint64_t end) { return end << 32 | begin; }
uint64_t begin_of(uint64_t bounds) { return bounds & UINT32_MAX; }
uint64_t end_of(uint64_t bounds) { return bounds >> 32; }
bool is_empty(uint64_t bounds) { return begin_of(bounds) >= end_of(bounds); }

uint64_t slot_of(const Member &me) { return (me.workshares - 1) % WORKSHARES; }

// How long a member is to be busy with what it reserves, as far as the reservation before tells. What it
// keeps from the others is worth twice as much, unless its chunks become longer. With half of this a chunk
// of 100 ns took 4 ns more where QEMU translates.
constexpr uint64_t RESERVED_CYCLES = 8000;
constexpr uint64_t BATCH_MAX = 64;
constexpr uint64_t NO_MORE = 0; // the member has had the last chunk

// Where the last chunk begins.
uint64_t before_last(const Loop &loop) {
    return loop.trips == 0 ? 0 : (loop.trips - 1) / loop.chunk * loop.chunk;
}

// The last chunk, if nobody has it. `Workshare::next` says so.
bool take_last(Member &me, const Loop &loop, Chunk *chunk) {
    uint64_t *is_taken = &me.workshare->next;
    if (loop.trips == 0 || HRT_LOAD(is_taken, HRT_RELAXED) != 0 ||
        HRT_EXCHANGE(is_taken, 1, HRT_RELAXED) != 0) {
        return false;
    }
    *chunk = {before_last(loop), loop.trips};
    me.batch = NO_MORE;
    return true;
}

// How many chunks to reserve next.
uint64_t batch_after(uint64_t batch, uint64_t cycles) {
    if (cycles > RESERVED_CYCLES) {
        uint64_t fewer = batch * RESERVED_CYCLES / cycles;
        return fewer > 0 ? fewer : 1;
    }
    return 2 * batch < BATCH_MAX ? 2 * batch : BATCH_MAX;
}

// Half of what another member has left, in whole chunks, becomes the member's own; false if all have nothing.
bool steal(Member &me, uint64_t chunk) {
    uint64_t slot = slot_of(me);
    for (uint32_t step = 1; step < me.size; step++) {
        uint32_t number = me.number + step < me.size ? me.number + step : me.number + step - me.size;
        uint64_t *range = &me.team->members[number]->ranges[slot].bounds;
        uint64_t bounds = HRT_LOAD(range, HRT_RELAXED);
        while (!is_empty(bounds)) {
            uint64_t begin = begin_of(bounds), end = end_of(bounds);
            uint64_t chunks = (end - begin + chunk - 1) / chunk;
            uint64_t middle = begin + chunks / 2 * chunk;
            if (HRT_CAS(range, &bounds, pack(begin, middle), HRT_RELAXED)) {
                HRT_STORE(&me.ranges[slot].bounds, pack(middle, end), HRT_RELAXED);
                return true;
            }
        }
    }
    return false;
}

} // namespace

bool ranges_fit(const Member &me, const Loop &loop) {
    return loop.is_nonmonotonic && !loop.is_ordered && me.size > 1 && loop.trips < UINT32_MAX &&
           loop.chunk < UINT32_MAX;
}

void ranges_deal(Member &me, const Loop &loop) {
    uint64_t chunks = before_last(loop) / loop.chunk;
    for (uint32_t number = 0; number < me.size; number++) {
        Chunk block = static_block(chunks, me.size, number);
        uint64_t *range = &me.team->members[number]->ranges[slot_of(me)].bounds;
        HRT_STORE(range, pack(block.begin * loop.chunk, block.end * loop.chunk), HRT_RELAXED);
    }
}

bool ranges_next(Member &me, const Loop &loop, Chunk *chunk) {
    if (me.batch == NO_MORE) {
        return false;
    }
    uint64_t now = hrt_cycles();
    me.batch = batch_after(me.batch, now - me.reserved_at);
    me.reserved_at = now;
    uint64_t *range = &me.ranges[slot_of(me)].bounds;
    uint64_t bounds = HRT_LOAD(range, HRT_RELAXED);
    for (;;) {
        if (is_empty(bounds)) {
            if (!steal(me, loop.chunk)) {
                return take_last(me, loop, chunk);
            }
            bounds = HRT_LOAD(range, HRT_RELAXED);
            continue;
        }
        uint64_t begin = begin_of(bounds), end = end_of(bounds), left = end - begin;
        uint64_t taken = me.batch * loop.chunk; // fits: chunks of ranges are less than 2^32
        if (HRT_UNLIKELY(taken > left)) {
            taken = left; // ranges have whole chunks only
        }
        if (HRT_CAS(range, &bounds, pack(begin + taken, end), HRT_RELAXED)) {
            *chunk = {begin, begin + loop.chunk};
            me.ready = {loop.first + chunk->end * loop.step, loop.first + (begin + taken) * loop.step,
                        loop.chunk * loop.step};
            return true;
        }
    }
}

} // namespace hadal::omp
