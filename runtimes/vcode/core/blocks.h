// SPDX-License-Identifier: Apache-2.0 OR MIT
// Splitting work into blocks of one size, and walking through the segments of a block.
//
// Work on a segmented vector is split by items: the elements and the ends of the segments, in one order. So
// one huge segment and many tiny or empty ones are split equally well. Blocks have a fixed size, and what
// they compute is combined in their order: results depend on the input only, not on how many CPUs there are.
#ifndef HADAL_VCODE_BLOCKS_H
#define HADAL_VCODE_BLOCKS_H

#include "gang.h"
#include "memory.h"

namespace hadal::vcode {

inline constexpr uint64_t BLOCK = 4096;

inline uint64_t block_count(uint64_t items) { return (items + BLOCK - 1) / BLOCK; }

// body(block, from, to) for each block of items, by the gang if there are enough of them.
template <typename Body> void for_blocks(uint64_t items, Body body) {
    share(block_count(items), BLOCK, [&](uint64_t block) {
        uint64_t from = block * BLOCK, to = from + BLOCK < items ? from + BLOCK : items;
        body(block, from, to);
    });
}

// The same with the number of the member that does it: body(block, from, to, member).
template <typename Body> void for_blocks_by_member(uint64_t items, Body body) {
    share_by_member(block_count(items), BLOCK, [&](uint64_t block, uint32_t member) {
        uint64_t from = block * BLOCK, to = from + BLOCK < items ? from + BLOCK : items;
        body(block, from, to, member);
    });
}

// Memory for the length of an operation.
template <typename T> class Scratch {
  public:
    explicit Scratch(uint64_t count)
        : memory(static_cast<T *>(take(count * sizeof(T) + (count == 0), size_class))) {}
    Scratch(const Scratch &) = delete;
    Scratch &operator=(const Scratch &) = delete;
    ~Scratch() {
        if (memory != nullptr) {
            give(memory, size_class);
        }
    }
    explicit operator bool() const { return memory != nullptr; }
    T &operator[](uint64_t index) { return memory[index]; }
    T *get() { return memory; }

  private:
    uint16_t size_class;
    T *memory;
};

// The bounds of a descriptor's segments.
struct Bounds {
    explicit Bounds(const Cell &descriptor) : segments(descriptor.length), total(total_of(descriptor)) {
        if (descriptor.in_block) {
            offsets = descriptor.segments->offsets();
        } else {
            one[1] = static_cast<Int>(total);
            offsets = one;
        }
    }
    Bounds(const Bounds &) = delete;
    Bounds &operator=(const Bounds &) = delete;
    uint64_t start(uint64_t segment) const { return static_cast<uint32_t>(offsets[segment]); }
    uint64_t end(uint64_t segment) const { return static_cast<uint32_t>(offsets[segment + 1]); }
    uint32_t length(uint64_t segment) const {
        return static_cast<uint32_t>(offsets[segment + 1] - offsets[segment]);
    }
    uint64_t items() const { return static_cast<uint64_t>(segments) + total; }

    uint32_t segments, total;
    const Int *offsets;
    Int one[2] = {0, 0};
};

// The segment that the item belongs to.
inline uint64_t segment_of_item(const Bounds &bounds, uint64_t item) {
    uint64_t low = 0, high = bounds.segments;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (bounds.start(middle) + middle <= item) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

// piece(segment, from, to, ends) for each part of a segment among the items: its elements, and whether the
// end of the segment is among the items, too.
template <typename Piece> void for_pieces(const Bounds &bounds, uint64_t from, uint64_t to, Piece piece) {
    if (from >= to) {
        return;
    }
    uint64_t segment = segment_of_item(bounds, from), element = from - segment;
    for (uint64_t item = from; item < to; segment++) {
        uint64_t end = bounds.end(segment), last = element + (to - item);
        last = last < end ? last : end;
        item += last - element;
        bool ends = item < to; // then the item behind the elements is the segment's end
        piece(segment, element, last, ends);
        item += ends;
        element = last;
    }
}

// The lowest of the places where something is wrong.
struct Fault {
    static constexpr uint64_t NOWHERE = UINT64_MAX;
    uint64_t place = NOWHERE;
    void at(uint64_t here) {
        uint64_t before = HRT_LOAD(&place, HRT_RELAXED);
        while (here < before && !HRT_CAS(&place, &before, here, HRT_RELAXED)) {
        }
    }
    bool any() const { return place != NOWHERE; }
};

} // namespace hadal::vcode

#endif
