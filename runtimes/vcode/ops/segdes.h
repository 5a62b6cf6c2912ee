// SPDX-License-Identifier: Apache-2.0 OR MIT
// Descriptors from lengths.
#ifndef HADAL_VCODE_SEGDES_H
#define HADAL_VCODE_SEGDES_H

#include "operands.h"

namespace hadal::vcode {

// The descriptor with these lengths, whose sum is known and not too large. The reference to the lengths
// passes to it, also when there is no memory.
bool segments_from(Machine &machine, Cell &descriptor, const Cell &lengths, uint32_t total);

} // namespace hadal::vcode

#endif
