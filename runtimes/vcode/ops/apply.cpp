// SPDX-License-Identifier: Apache-2.0 OR MIT
// Elementwise operations as the interpreter calls them, where no fast path has done it.
#include "elementwise.h"
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

bool routine_elementwise(Machine &machine, const Instruction &instruction) {
    const Elementwise &operation = *instruction.elementwise;
    static const char *const names[3][3] = {{"the operand", "", ""},
                                            {"the left operand", "the right operand", ""},
                                            {"the flags", "the first choice", "the second choice"}};
    size_t arity = operation.arity;
    if (!need(machine, arity)) {
        return false;
    }
    Cell *operands = machine.top - arity;
    for (size_t index = 0; index < arity; index++) {
        if (operands[index].type != operation.operands[index]) {
            return machine.error("%s is %s, not %s", names[arity - 1][index], type_name(operands[index].type),
                                 type_name(operation.operands[index]));
        }
        if (!agree(machine, operands[0], operands[index])) {
            return false;
        }
    }
    uint32_t length = operands[0].length;
    Cell result;
    if (length >= LAZY_LENGTH) {
        if (!defer(operation, operands, result)) {
            return machine.out_of_memory();
        }
        machine.top -= arity;
        *machine.top++ = result;
        return true;
    }
    result.head = 0;
    for (size_t index = 0; index < arity && result.head == 0; index++) {
        const Cell &operand = operands[index];
        if (operand.in_block && operand.block->references == 1 &&
            element_bytes(operand.type) == element_bytes(operation.result)) {
            result.head = head_of(operation.result, true, length);
            result.block = operand.block;
            retain(result);
        }
    }
    if (result.head == 0 && !make_vector(result, operation.result, length)) {
        return machine.out_of_memory();
    }
    const void *data[3] = {nullptr, nullptr, nullptr};
    for (size_t index = 0; index < arity; index++) {
        data[index] = data_of(operands[index]);
    }
    kernel_of(operation)(data_of(result), data[0], data[1], data[2], length);
    return finish(machine, arity, result);
}

} // namespace hadal::vcode
