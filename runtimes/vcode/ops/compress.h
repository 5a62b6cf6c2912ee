// SPDX-License-Identifier: Apache-2.0 OR MIT
// Moving the flagged elements of a vector together, with vectors of 256 bits where the processor has them.
#ifndef HADAL_VCODE_COMPRESS_H
#define HADAL_VCODE_COMPRESS_H

#include "../core/cell.h"

namespace hadal::vcode {

// Moves the `flagged` first elements whose flags are set to `results`, in their order, and writes nothing
// behind them. There are so many among `count`, and a flag is 0 or 1.
template <typename T>
void compress(const T *values, const Bool *flags, uint64_t count, T *results, uint64_t flagged);

} // namespace hadal::vcode

#endif
