// SPDX-License-Identifier: Apache-2.0 OR MIT
// What --trace and --counts see of each instruction.
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

// Called before each instruction; gives the place of its fast path.
uint32_t observe(Machine &machine, const Instruction &instruction);

} // namespace hadal::vcode

#endif
