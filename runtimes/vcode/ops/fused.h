// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two arithmetic operations in one pass over strips: what is between them is never in memory.
#ifndef HADAL_VCODE_FUSED_H
#define HADAL_VCODE_FUSED_H

#include "elementwise.h"

namespace hadal::vcode {

// The loop that does `first` on its operands a and b, and `second` on the result and c, the result being the
// left operand or the right one; NULL: there is none for these two.
Kernel fused_kernel(const Elementwise &first, const Elementwise &second, bool is_left);

} // namespace hadal::vcode

#endif
