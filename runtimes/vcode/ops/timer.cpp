// SPDX-License-Identifier: Apache-2.0 OR MIT
// START_TIMER and STOP_TIMER: wall-clock time.
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

// Work that was put off counts for the time in which the program asked for it.
bool compute_stack(Machine &machine) {
    for (Cell *cell = machine.top; cell-- > machine.base;) {
        if (is_data(cell->type) && !force(*cell)) {
            return machine.out_of_memory();
        }
    }
    return true;
}

} // namespace

bool routine_start_timer(Machine &machine, const Instruction &) {
    if (!compute_stack(machine)) {
        return false;
    }
    machine.timer_start = hrt_now_ns();
    return true;
}

bool routine_stop_timer(Machine &machine, const Instruction &) {
    if (!compute_stack(machine)) {
        return false;
    }
    uint64_t passed = hrt_now_ns() - machine.timer_start;
    return machine.push(float_cell(static_cast<Float>(passed) * 1e-9));
}

} // namespace hadal::vcode
