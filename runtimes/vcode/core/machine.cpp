// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stacks that grow within bounds, and errors that say where they occurred.
#include "machine.h"

#include <cstdarg>

namespace hadal::vcode {

namespace {

constexpr size_t GUARD = 8;             // cells of no type below the stack: what fast paths may look at
constexpr size_t CELLS_FIRST = 1 << 10; // the stack at the start
constexpr size_t CELLS_MAX = size_t{1} << 26;
constexpr size_t RETURNS_FIRST = 1 << 10;
constexpr size_t RETURNS_MAX = size_t{1} << 24;

// The statement of a run of stack operations that lacks cells.
uint32_t failing_statement(const Machine &machine, const Origin &origin) {
    const Program &program = *machine.program;
    uint32_t statement = origin.statement;
    size_t depth = machine.depth();
    for (;; statement++) {
        const Statement &step = program.statements[statement];
        Form form = operations[step.operation].form;
        if (form != Form::Copy && form != Form::Pop && form != Form::Cpop) {
            return origin.statement;
        }
        size_t count = static_cast<size_t>(step.count);
        if (count + static_cast<size_t>(step.position) > depth) {
            return statement;
        }
        depth += form == Form::Copy ? count : form == Form::Pop ? -count : 0;
    }
}

} // namespace

bool Machine::start() {
    cell_memory = take_array((CELLS_FIRST + GUARD) * sizeof(Cell));
    returns = static_cast<const Instruction **>(take_array(RETURNS_FIRST * sizeof(*returns)));
    if (cell_memory == nullptr || returns == nullptr) {
        return false;
    }
    memset(cell_memory, 0, GUARD * sizeof(Cell));
    base = top = static_cast<Cell *>(cell_memory) + GUARD;
    limit = base + CELLS_FIRST;
    return_top = returns;
    return_limit = returns + RETURNS_FIRST;
    random.seed(1);
    for (FILE *stream : {stdin, stdout, stderr}) {
        files.add({stream, true});
    }
    return !files.failed;
}

void Machine::stop() {
    drop(depth());
    give_array(cell_memory);
    give_array(returns);
}

bool Machine::grow_stack(size_t cells) {
    size_t size = static_cast<size_t>(limit - base), used = depth();
    while (size - used < cells) {
        size *= 2;
    }
    if (size > CELLS_MAX) {
        return error("out of memory: the stack has %zu cells (endless recursion?)", used);
    }
    void *larger = take_array((size + GUARD) * sizeof(Cell));
    if (larger == nullptr) {
        return error("out of memory for a stack of %zu cells, %zu calls deep (endless recursion?)", size,
                     static_cast<size_t>(return_top - returns));
    }
    memcpy(larger, cell_memory, (used + GUARD) * sizeof(Cell));
    give_array(cell_memory);
    cell_memory = larger;
    base = static_cast<Cell *>(larger) + GUARD;
    top = base + used;
    limit = base + size;
    return true;
}

bool Machine::grow_returns() {
    size_t used = static_cast<size_t>(return_top - returns), size = 2 * used;
    if (size > RETURNS_MAX) {
        return error("out of memory: %zu calls deep (endless recursion?)", used);
    }
    auto larger = static_cast<const Instruction **>(take_array(size * sizeof(*returns)));
    if (larger == nullptr) {
        return error("out of memory: %zu calls deep (endless recursion?)", used);
    }
    memcpy(larger, returns, used * sizeof(*returns));
    give_array(returns);
    returns = larger;
    return_top = larger + used;
    return_limit = larger + size;
    return true;
}

bool Machine::out_of_memory() { return error("out of memory"); }

// FILE:LINE: run-time error in FUNCTION (NESL name, file:line), INSTRUCTION: text
bool Machine::error(const char *format, ...) {
    fflush(stdout);
    if (at != nullptr) {
        const Origin &origin = code->origins[static_cast<size_t>(at - code->instructions.begin())];
        const Statement &statement = program->statements[failing_statement(*this, origin)];
        const Operation &operation = operations[statement.operation];
        const Function &function = program->functions[origin.function];
        fprintf(stderr, "%s:%u: run-time error in %.*s", program->file, statement.line,
                static_cast<int>(function.name.size()), function.name.data());
        if (function.source != Names::NONE) {
            const SourceLine &source = program->sources[function.source];
            fprintf(stderr, " (%.*s, %.*s:%u)", static_cast<int>(source.name.size()), source.name.data(),
                    static_cast<int>(source.file.size()), source.file.data(), source.line);
        }
        fprintf(stderr, ", %s", operation.name);
        if (operation.suffix != Suffix::None) {
            fprintf(stderr, " %s", suffix_name(operation.suffix));
        } else if (operation.form == Form::Copy || operation.form == Form::Pop ||
                   operation.form == Form::Cpop) {
            fprintf(stderr, " %d %d", statement.count, statement.position);
        } else if (operation.form == Form::Call) {
            const Function &called = program->functions[statement.function];
            fprintf(stderr, " %.*s", static_cast<int>(called.name.size()), called.name.data());
        }
        fputs(": ", stderr);
    } else {
        fprintf(stderr, "%s: run-time error: ", program->file);
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

void Random::seed(uint32_t value) {
    int64_t word = static_cast<Int>(value == 0 ? 1 : value);
    for (uint32_t index = 0; index < 31; index++) {
        state[index] = static_cast<uint32_t>(word);
        word = 16807 * word % 2147483647;
        word += word < 0 ? 2147483647 : 0;
    }
    at = 3;
    for (uint32_t index = 34; index < 344; index++) {
        next();
    }
}

} // namespace hadal::vcode
