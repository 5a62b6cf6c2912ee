// SPDX-License-Identifier: Apache-2.0 OR MIT
// Traces, counts and bounded work. Programs are decoded without merging for them: one instruction for each
// statement.
#include "observe.h"

#include <cstdlib>

namespace hadal::vcode {

namespace {

// The topmost cells as types with lengths, the top at the right.
void print_shapes(const Machine &machine, FILE *stream) {
    constexpr size_t SHOWN = 12;
    size_t depth = machine.depth(), first = depth > SHOWN ? depth - SHOWN : 0;
    if (first > 0) {
        fprintf(stream, " (%zu more)", first);
    }
    for (size_t index = first; index < depth; index++) {
        const Cell &cell = machine.base[index];
        if (cell.type == Type::Segdes) {
            fprintf(stream, " SEGDES[%u:%u]", cell.length, total_of(cell));
        } else if (cell.type == Type::Pair) {
            fputs(" PAIR", stream);
        } else {
            fprintf(stream, " %s[%u]", type_name(cell.type), cell.length);
        }
    }
    fputc('\n', stream);
}

void print_statement(const Machine &machine, const Origin &origin, const Statement &statement, FILE *stream) {
    const Operation &operation = operations[statement.operation];
    const Function &function = machine.program->functions[origin.function];
    fprintf(stream, "%.*s:%u %s", static_cast<int>(function.name.size()), function.name.data(),
            statement.line, operation.name);
    if (operation.suffix != Suffix::None) {
        fprintf(stream, " %s", suffix_name(operation.suffix));
    }
    if (operation.form == Form::Copy || operation.form == Form::Pop || operation.form == Form::Cpop) {
        fprintf(stream, " %d %d", statement.count, statement.position);
    } else if (operation.form == Form::Call) {
        const Function &called = machine.program->functions[statement.function];
        fprintf(stream, " %.*s", static_cast<int>(called.name.size()), called.name.data());
    }
    fputs(" |", stream);
}

// The longest of the vectors that may be operands stands for an operation.
uint32_t longest_operand(const Machine &machine) {
    uint32_t longest = 0;
    for (size_t index = 1; index <= 3 && index <= machine.depth(); index++) {
        const Cell &cell = machine.top[-static_cast<ptrdiff_t>(index)];
        uint32_t length = cell.type == Type::Segdes ? total_of(cell) : cell.length;
        longest = length > longest ? length : longest;
    }
    return longest;
}

} // namespace

bool counts_start(Machine &machine) {
    machine.counts = static_cast<Counts *>(calloc(1, sizeof(Counts)));
    if (machine.counts != nullptr) {
        machine.counts->operations = static_cast<uint64_t *>(calloc(operation_count, sizeof(uint64_t)));
    }
    return machine.counts != nullptr && machine.counts->operations != nullptr;
}

bool observe(Machine &machine, const Instruction &instruction, uint32_t &fast) {
    const Origin &origin =
        machine.code->origins[static_cast<size_t>(&instruction - machine.code->instructions.begin())];
    const Statement &statement = machine.program->statements[origin.statement];
    if (machine.trace != nullptr) {
        print_statement(machine, origin, statement, machine.trace);
        print_shapes(machine, machine.trace);
    }
    if (Counts *counts = machine.counts) {
        counts->all++;
        counts->operations[statement.operation]++;
        if (operations[statement.operation].form == Form::Plain && machine.depth() > 0) {
            uint32_t longest = longest_operand(machine);
            counts->vector_operations++;
            counts->lengths[longest == 0 ? 0 : 32 - __builtin_clz(longest)]++;
        }
    }
    fast = origin.fast;
    if (machine.work_left != UINT64_MAX) {
        constexpr uint32_t ELEMENTS = 4096; // count like an instruction
        uint64_t work = 1 + longest_operand(machine) / ELEMENTS;
        if (work > machine.work_left) {
            return machine.error("the program has done all the work it may");
        }
        machine.work_left -= work;
    }
    return true;
}

void counts_print(const Machine &machine, FILE *stream) {
    const Counts &counts = *machine.counts;
    fprintf(stream, "%llu instructions, of these %llu vector operations\n",
            static_cast<unsigned long long>(counts.all),
            static_cast<unsigned long long>(counts.vector_operations));
    for (uint32_t row = 0; row < operation_count; row++) {
        if (counts.operations[row] > 0) {
            fprintf(stream, "%12llu %s %s\n", static_cast<unsigned long long>(counts.operations[row]),
                    operations[row].name, suffix_name(operations[row].suffix));
        }
    }
    fputs("vector operations by length\n", stream);
    for (uint32_t bits = 0; bits < Counts::LENGTHS; bits++) {
        if (counts.lengths[bits] > 0) {
            uint64_t low = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
            uint64_t high = bits == 0 ? 0 : (uint64_t{1} << bits) - 1;
            fprintf(stream, "%12llu of %llu to %llu elements\n",
                    static_cast<unsigned long long>(counts.lengths[bits]),
                    static_cast<unsigned long long>(low), static_cast<unsigned long long>(high));
        }
    }
}

} // namespace hadal::vcode
