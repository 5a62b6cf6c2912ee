// SPDX-License-Identifier: Apache-2.0 OR MIT
// Vectors that are still to be computed: chains of elementwise operations run in one pass when somebody needs
// their result.
//
// An elementwise operation on long vectors only notes what is to be done, in a block without data. DIST and
// INDEX over one segment do the same. When the elements are needed, all that hangs together is computed by
// strips that stay in the first-level cache, and only what somebody still refers to is written to memory.
// Such operations cannot fail, so no program can see when they run, but by the clock: timers have them done
// first.
#ifndef HADAL_VCODE_LAZY_H
#define HADAL_VCODE_LAZY_H

#include "../ops/elementwise.h"

namespace hadal::vcode {

inline constexpr uint32_t LAZY_LENGTH = 4096; // from this length on operations are put off
inline constexpr uint32_t LAZY_NODES = 24;    // as many may hang together

// Puts an operation off; the operands pass to the result. False: out of memory, and they have not.
bool defer(const Elementwise &operation, Cell *operands, Cell &result);
// Elements that are all the same, or go up by steps.
bool defer_constant(Type type, uint64_t word, uint32_t length, Cell &result);
bool defer_index(Int start, Int step, uint32_t length, Cell &result);

// Gives up a vector that nobody needs.
void pending_drop(Pending *pending);

// Computes a data cell's vector if that is still to be done; false: out of memory.
[[gnu::noinline]] bool compute(Cell &cell);
inline bool is_pending(const Cell &cell) { return cell.in_block && cell.block->data == nullptr; }
inline bool force(Cell &cell) { return HRT_LIKELY(!is_pending(cell)) || compute(cell); }

} // namespace hadal::vcode

#endif
