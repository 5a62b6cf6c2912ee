// SPDX-License-Identifier: Apache-2.0 OR MIT
// What --trace, --counts and --work see of each instruction.
#ifndef HADAL_VCODE_OBSERVE_H
#define HADAL_VCODE_OBSERVE_H

#include "machine.h"

namespace hadal::vcode {

// How often each operation ran, and on vectors of which lengths (by powers of two).
struct Counts {
    static constexpr uint32_t LENGTHS = 34;
    uint64_t *operations; // by row
    uint64_t lengths[LENGTHS];
    uint64_t all, vector_operations;
};

bool counts_start(Machine &machine);
void counts_print(const Machine &machine, FILE *stream);

// Called before each instruction; false: the program has done all the work it may. `fast` becomes the place
// of its fast path.
bool observe(Machine &machine, const Instruction &instruction, uint32_t &fast);

} // namespace hadal::vcode

#endif
