// SPDX-License-Identifier: Apache-2.0 OR MIT
// The routines of instructions, by family.
#ifndef HADAL_VCODE_ROUTINES_H
#define HADAL_VCODE_ROUTINES_H

#include "../core/machine.h"

namespace hadal::vcode {

#define ROUTINE(name) bool name(Machine &machine, const Instruction &instruction)

// stack.cpp
ROUTINE(routine_stack); // COPY, POP, CPOP one by one
ROUTINE(routine_shuffle);
ROUTINE(routine_const);
ROUTINE(routine_if);
ROUTINE(routine_pair);
ROUTINE(routine_unpair);
Cell *shuffle_cells(const Code &code, const Shuffle &shuffle, Cell *top);

ROUTINE(routine_elementwise);
ROUTINE(routine_rand);
ROUTINE(routine_srand);
ROUTINE(routine_form);

ROUTINE(routine_index);
ROUTINE(routine_make_segdes);
ROUTINE(routine_lengths);
ROUTINE(routine_fopen);
ROUTINE(routine_fclose);
ROUTINE(routine_fread_char);
ROUTINE(routine_spawn);
ROUTINE(routine_start_timer);
ROUTINE(routine_stop_timer);

#undef ROUTINE

// Routines by name and suffix.
Routine scan_routine(const char *name, Suffix suffix);
Routine reduce_routine(const char *name, Suffix suffix);
Routine scatter_routine(const char *name, Suffix suffix); // also REPLACE
Routine gather_routine(Suffix suffix, bool flagged);
Routine extract_routine(Suffix suffix);
Routine pack_routine(Suffix suffix);
Routine rank_routine(Suffix suffix, bool down);
Routine dist_routine(Suffix suffix);
Routine length_routine(Suffix suffix);
Routine read_routine(Suffix suffix, bool file);
Routine write_routine(Suffix suffix, bool file);

} // namespace hadal::vcode

#endif
