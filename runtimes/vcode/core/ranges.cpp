// SPDX-License-Identifier: Apache-2.0 OR MIT
// Noting an INDEX for later, checking its numbers as indices, writing them to memory.
#include "ranges.h"

namespace hadal::vcode {

namespace {

// INDEX over one segment is noted without a descriptor.
Cell descriptor_of(const Cell &cell) {
    const Pending &pending = *cell.block->pending;
    return pending.source == Source::Index ? segdes_cell(cell.length) : pending.operands[2];
}

} // namespace

Ranges::Ranges(const Cell &cell) : bounds(descriptor_of(cell)) {
    const Pending &pending = *cell.block->pending;
    bool one = pending.source == Source::Index;
    starts = one ? &pending.start : elements<Int>(pending.operands[0]);
    steps = one ? &pending.step : elements<Int>(pending.operands[1]);
}

bool Ranges::lie_as(const Bounds &other) const {
    return bounds.segments == other.segments &&
           (bounds.offsets == other.offsets ||
            memcmp(bounds.offsets, other.offsets, (uint64_t{bounds.segments} + 1) * sizeof(Int)) == 0);
}

bool Ranges::index(const Bounds &own, const Bounds &segments) {
    into = &segments;
    flat = !lie_as(own);
    if (flat && (own.segments != 1 || segments.segments != 1)) {
        return false;
    }
    uint32_t wrong = 0;
    for_blocks(bounds.segments, [&](uint64_t, uint64_t from, uint64_t to) {
        for (uint64_t segment = from; segment < to; segment++) {
            // No wrap from the first to the last: so those between lie between.
            int64_t count = bounds.length(segment), first = starts[segment];
            int64_t end = last(segment);
            int64_t length = segments.length(flat ? 0 : segment);
            if (HRT_UNLIKELY(count > 0 && (first < 0 || first >= length || end < 0 || end >= length))) {
                return HRT_STORE(&wrong, 1, HRT_RELAXED);
            }
        }
    });
    return wrong == 0;
}

// Over one segment for all: if each run lies behind the one before.
bool Ranges::apart() const {
    uint32_t wrong = 0;
    for_blocks(bounds.segments, [&](uint64_t, uint64_t from, uint64_t to) {
        int64_t behind = from > 0 ? last(from - 1) : -1;
        for (uint64_t segment = from; segment < to; segment++) {
            bool fine = steps[segment] != 0 || bounds.length(segment) < 2;
            if (flat) {
                // What is behind an empty run is behind all before it only if the run is.
                fine = bounds.length(segment) == 0 ? last(segment) >= behind
                                                   : steps[segment] > 0 && starts[segment] > behind;
                behind = last(segment);
            }
            if (HRT_UNLIKELY(!fine)) {
                return HRT_STORE(&wrong, 1, HRT_RELAXED);
            }
        }
    });
    return wrong == 0;
}

void Ranges::write(Int *results, uint64_t from, uint64_t to) const {
    // Of the segments that begin there or before, the last one has the first element: it is not empty.
    uint64_t segment = 0, above = bounds.segments;
    while (above - segment > 1) {
        uint64_t middle = segment + (above - segment) / 2;
        (bounds.start(middle) <= from ? segment : above) = middle;
    }
    for (uint64_t first = from; first < to; segment++) {
        uint64_t end = bounds.end(segment), last = end < to ? end : to;
        uint32_t value = static_cast<uint32_t>(at(segment, first - bounds.start(segment)));
        uint32_t step = static_cast<uint32_t>(steps[segment]);
        Int *run = results + (first - from);
        for (uint64_t index = 0; index < last - first; index++) {
            run[index] = static_cast<Int>(value + step * static_cast<uint32_t>(index));
        }
        first = last;
    }
}

bool defer_ranges(const Cell &starts, const Cell &steps, const Cell &descriptor, Cell &result) {
    Pending *pending = new_pending(Type::Int, total_of(descriptor), result);
    if (pending != nullptr) {
        pending->source = Source::Ranges;
        pending->arity = 3;
        pending->operands[0] = starts;
        pending->operands[1] = steps;
        pending->operands[2] = descriptor;
    }
    return pending != nullptr;
}

bool compute_ranges(Cell &cell) {
    uint16_t data_class;
    Int *results = static_cast<Int *>(take(uint64_t{cell.length} * sizeof(Int), data_class));
    if (results == nullptr) {
        return false;
    }
    Ranges ranges(cell);
    for_blocks(cell.length,
               [&](uint64_t, uint64_t from, uint64_t to) { ranges.write(results + from, from, to); });
    Block *block = cell.block;
    Pending *pending = block->pending;
    block->data = results;
    block->data_class = data_class;
    block->bytes = class_bytes(data_class);
    pending_drop(pending);
    return true;
}

} // namespace hadal::vcode
