// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stack operations, constants, pairs, and what control instructions do when they are wrong.
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

// Cells from one place of the stack to another by three reversals: no memory.
void rotate(Cell *first, Cell *middle, Cell *last) {
    auto reverse = [](Cell *from, Cell *to) {
        while (from < to && from < --to) {
            Cell cell = *from;
            *from++ = *to;
            *to = cell;
        }
    };
    reverse(first, middle);
    reverse(middle, last);
    reverse(first, last);
}

} // namespace

Cell *shuffle_cells(const Code &code, const Shuffle &shuffle, Cell *top) {
    Cell *window = top - shuffle.depth, *changed = window + shuffle.kept;
    Cell before[SHUFFLE_MAX];
    uint32_t moved = shuffle.depth - shuffle.kept;
    for (uint32_t index = 0; index < moved; index++) {
        before[index] = changed[index];
    }
    if (shuffle.counts) {
        const Int *changes = &code.changes[shuffle.changes];
        for (uint32_t index = 0; index < shuffle.depth; index++) {
            if (window[index].in_block && changes[index] != 0) {
                if (changes[index] < 0) {
                    release(window[index]);
                } else {
                    window[index].block->references += static_cast<uint32_t>(changes[index]);
                }
            }
        }
    }
    const uint32_t *places = code.places.begin() + shuffle.places;
    for (uint32_t index = 0; index < shuffle.results; index++) {
        uint32_t place = places[index];
        changed[index] = place < shuffle.kept ? window[place] : before[place - shuffle.kept];
    }
    return changed + shuffle.results;
}

bool routine_shuffle(Machine &machine, const Instruction &instruction) {
    const Shuffle &shuffle = *instruction.shuffle;
    if (machine.depth() < shuffle.depth) {
        return machine.error("the stack has only %zu cells", machine.depth());
    }
    if (!machine.room(shuffle.results)) {
        return false;
    }
    machine.top = shuffle_cells(*machine.code, shuffle, machine.top);
    return true;
}

bool routine_stack(Machine &machine, const Instruction &instruction) {
    const Origin &origin =
        machine.code->origins[static_cast<size_t>(&instruction - machine.code->instructions.begin())];
    Form form = operations[machine.program->statements[origin.statement].operation].form;
    size_t count = static_cast<size_t>(instruction.count),
           position = static_cast<size_t>(instruction.position);
    if (count == 0) {
        return true;
    }
    if (count + position > machine.depth()) {
        return machine.error("the stack has only %zu cells", machine.depth());
    }
    Cell *first = machine.top - position - count;
    if (form != Form::Copy) {
        rotate(first, first + count, machine.top);
        machine.drop(form == Form::Pop ? count : 0);
        return true;
    }
    if (!machine.room(count)) {
        return false;
    }
    first = machine.top - position - count;
    for (size_t index = 0; index < count; index++) {
        retain(first[index]);
        *machine.top++ = first[index];
    }
    return true;
}

bool routine_const(Machine &machine, const Instruction &instruction) {
    if (!machine.room(1)) {
        return false;
    }
    retain(*instruction.constant);
    *machine.top++ = *instruction.constant;
    return true;
}

bool routine_if(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Bool, "the condition")) {
        return false;
    }
    return machine.error("the condition has %u elements, not one", machine.top[-1].length);
}

bool routine_pair(Machine &machine, const Instruction &) {
    if (!need(machine, 2)) {
        return false;
    }
    Cell pair;
    if (!make_pair(pair, machine.top[-2], machine.top[-1])) {
        return machine.out_of_memory();
    }
    machine.top--;
    machine.top[-1] = pair;
    return true;
}

bool routine_unpair(Machine &machine, const Instruction &) {
    if (!need(machine, 1) || !want(machine, machine.top[-1], Type::Pair, "the operand") || !machine.room(1)) {
        return false;
    }
    Cell pair = machine.top[-1];
    machine.top[-1] = pair.pair->first;
    retain(machine.top[-1]);
    *machine.top++ = pair.pair->second;
    retain(machine.top[-1]);
    release(pair);
    return true;
}

} // namespace hadal::vcode
