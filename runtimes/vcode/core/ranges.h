// SPDX-License-Identifier: Apache-2.0 OR MIT
// INDEX over segments, put off: numbers that go up by steps in each segment. Who moves elements by such
// indices moves runs of them, and elementwise operations write them to their strips: so they are in memory
// only if something else needs them.
#ifndef HADAL_VCODE_RANGES_H
#define HADAL_VCODE_RANGES_H

#include "blocks.h"
#include "plan.h"

namespace hadal::vcode {

// Puts an INDEX off; the operands pass to the result. False: out of memory, and they have not.
bool defer_ranges(const Cell &starts, const Cell &steps, const Cell &descriptor, Cell &result);
// Writes the numbers to memory; false: out of memory.
bool compute_ranges(Cell &cell);

inline bool is_ranges(const Cell &cell) {
    return is_pending(cell) &&
           (cell.block->pending->source == Source::Ranges || cell.block->pending->source == Source::Index);
}

class Ranges {
  public:
    // The operands of an INDEX.
    Ranges(const Cell &starts, const Cell &steps, const Cell &descriptor)
        : bounds(descriptor), starts(elements<Int>(starts)), steps(elements<Int>(steps)) {}
    // Of a cell for which is_ranges() holds.
    explicit Ranges(const Cell &cell);

    // The number at a place of the segment, as INT has it.
    Int at(uint64_t segment, uint64_t place) const {
        return static_cast<Int>(static_cast<uint32_t>(starts[segment]) +
                                static_cast<uint32_t>(steps[segment]) * static_cast<uint32_t>(place));
    }
    Int step(uint64_t segment) const { return steps[segment]; }
    // Takes the numbers for indices into the segments of `into`, in a vector with the segments `own`. False:
    // that takes more than looking at the ends of runs, or some are no indices of their segment.
    bool index(const Bounds &own, const Bounds &into);
    // Whether no two of them are for one place.
    bool apart() const;
    // The place in the whole vector that the index at this place of the segment is for.
    uint64_t target(uint64_t segment, uint64_t place) const {
        return (flat ? 0 : into->start(segment)) + static_cast<uint32_t>(at(segment, place));
    }
    // Writes the numbers of elements `from` to `to`.
    void write(Int *results, uint64_t from, uint64_t to) const;

    const Bounds bounds;

  private:
    bool lie_as(const Bounds &other) const;
    // The last number of a segment if nothing wraps; of an empty one, a step before the first.
    int64_t last(uint64_t segment) const {
        return starts[segment] + (static_cast<int64_t>(bounds.length(segment)) - 1) * steps[segment];
    }

    const Int *starts, *steps;
    const Bounds *into = nullptr;
    bool flat = false; // indices of one segment, whatever segments they have themselves
};

} // namespace hadal::vcode

#endif
