// SPDX-License-Identifier: Apache-2.0 OR MIT
// The final print of a program.
#ifndef HADAL_VCODE_FINAL_H
#define HADAL_VCODE_FINAL_H

#include "../core/machine.h"

namespace hadal::vcode {

// Prints the cells from there to the top.
bool print_stack(Machine &machine, const Cell *from);

} // namespace hadal::vcode

#endif
