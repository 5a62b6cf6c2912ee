// SPDX-License-Identifier: Apache-2.0 OR MIT
// Vectors that are still to be computed: chains of elementwise operations run in one pass when somebody needs
// their result.
#ifndef HADAL_VCODE_LAZY_H
#define HADAL_VCODE_LAZY_H

#include "cell.h"

namespace hadal::vcode {

// Gives up a vector nobody needs.
void pending_drop(Pending *pending);

// Computes a data cell's vector if that is still to be done; false: out of memory.
[[gnu::noinline]] bool compute(Cell &cell);
inline bool force(Cell &cell) {
    return HRT_LIKELY(!cell.in_block || cell.block->data != nullptr) || compute(cell);
}

} // namespace hadal::vcode

#endif
