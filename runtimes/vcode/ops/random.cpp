// SPDX-License-Identifier: Apache-2.0 OR MIT
// RAND and SRAND: the sequence that the 3.1 system has on GNU systems.
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

bool routine_rand(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Int, "the operand")) {
        return false;
    }
    Cell &limits = machine.top[-1];
    const Int *values = elements<Int>(limits);
    for (uint32_t index = 0; index < limits.length; index++) {
        if (values[index] <= 0) {
            return machine.error("the limit %d (element %u) is not positive", values[index], index);
        }
    }
    Cell result;
    Int *results = new_result<Int>(machine, result, limits.length);
    if (results == nullptr) {
        return false;
    }
    for (uint32_t index = 0; index < limits.length; index++) {
        results[index] = static_cast<Int>(machine.random.next() % static_cast<uint32_t>(values[index]));
    }
    return finish(machine, 1, result);
}

bool routine_srand(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Int, "the seed")) {
        return false;
    }
    if (machine.top[-1].length != 1) {
        return machine.error("the seed has %u elements, not one", machine.top[-1].length);
    }
    machine.random.seed(static_cast<uint32_t>(machine.top[-1].i));
    machine.top[-1] = bool_cell(true);
    return true;
}

} // namespace hadal::vcode
