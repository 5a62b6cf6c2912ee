// SPDX-License-Identifier: Apache-2.0 OR MIT
// From statements to instructions: runs of stack operations become one step each, calls and branches
// pointers.
#include "../ops/elementwise.h"
#include "../ops/routines.h"
#include "machine.h"

namespace hadal::vcode {

namespace {

// A run of stack operations, seen from the deepest cell that it touches.
struct Run {
    uint32_t places[SHUFFLE_MAX];
    uint32_t depth = 0, count = 0;
    uint32_t first_statement = 0, statements = 0;

    // Whether the run can take one more; it then has.
    bool take(Form form, uint32_t n, uint32_t i) {
        uint32_t below = n + i > count ? n + i - count : 0;
        uint32_t after = count + below + (form == Form::Copy ? n : 0);
        if (n > SHUFFLE_MAX || i > SHUFFLE_MAX || depth + below > SHUFFLE_MAX || after > SHUFFLE_MAX) {
            return false;
        }
        if (below > 0) {
            for (uint32_t index = count; index-- > 0;) {
                places[index + below] = places[index] + below;
            }
            for (uint32_t index = 0; index < below; index++) {
                places[index] = index;
            }
            depth += below;
            count += below;
        }
        uint32_t first = count - n - i, moved[SHUFFLE_MAX];
        memcpy(moved, places + first, n * sizeof *moved);
        if (form != Form::Copy) {
            memmove(places + first, places + first + n, i * sizeof *places);
            count -= n;
        }
        if (form != Form::Pop) {
            memcpy(places + count, moved, n * sizeof *moved);
            count += n;
        }
        statements++;
        return true;
    }
};

class Decoder {
  public:
    Decoder(const Program &program, Code &code, bool plain) : program(program), code(code), plain(plain) {}
    bool run();

  private:
    void function(uint32_t number);
    void statement(uint32_t number);
    void add(const Instruction &instruction, uint32_t fast);
    void stack_operation(uint32_t number, Form form, const Statement &step);
    void flush();
    void shuffle();
    void connect();

    const Program &program;
    Code &code;
    bool plain;
    Run pending;
    Array<uint32_t> positions; // of statements: their instruction
    Array<bool> targets;       // of branches
    uint32_t current_function = 0, current_statement = 0;
};

void Decoder::add(const Instruction &instruction, uint32_t fast) {
    code.instructions.add(instruction);
    code.origins.add({current_statement, current_function, fast});
}

// Emits what the run does, in its shortest form.
void Decoder::shuffle() {
    Run &run = pending;
    Instruction instruction{};
    instruction.routine = routine_shuffle;
    const Statement &step = program.statements[run.first_statement];
    Form form = operations[step.operation].form;
    if (run.statements == 1 && step.count == 1) {
        instruction.count = step.count;
        instruction.position = step.position;
        instruction.routine = routine_stack;
        if (form == Form::Copy) {
            return add(instruction, FAST_COPY1);
        }
        if (form == Form::Pop && step.position == 0) {
            return add(instruction, FAST_POP1);
        }
        if (form == Form::Cpop && step.position == 1) {
            return add(instruction, FAST_SWAP);
        }
        instruction.routine = routine_shuffle;
    }
    uint32_t kept = 0;
    while (kept < run.count && kept < run.depth && run.places[kept] == kept) {
        kept++;
    }
    if (kept == run.depth && kept == run.count) {
        return; // the run changes nothing
    }
    // The deepest cells that stay and are not copied do not concern it.
    uint32_t skipped = kept;
    for (uint32_t index = kept; index < run.count; index++) {
        skipped = run.places[index] < skipped ? run.places[index] : skipped;
    }
    Shuffle made{run.depth - skipped,
                 kept - skipped,
                 run.count - kept,
                 static_cast<uint32_t>(code.places.size()),
                 static_cast<uint32_t>(code.changes.size()),
                 false,
                 run.statements};
    for (uint32_t index = kept; index < run.count; index++) {
        code.places.add(run.places[index] - skipped);
    }
    Int changes[SHUFFLE_MAX];
    for (uint32_t index = 0; index < made.depth; index++) {
        changes[index] = index < made.kept ? 0 : -1;
    }
    for (uint32_t index = kept; index < run.count; index++) {
        changes[run.places[index] - skipped]++;
    }
    for (uint32_t index = 0; index < made.depth; index++) {
        code.changes.add(changes[index]);
        made.counts |= changes[index] != 0;
    }
    instruction.form = code.shuffles.size();
    code.shuffles.add(made);
    add(instruction, FAST_SHUFFLE);
}

void Decoder::flush() {
    if (pending.statements > 0) {
        uint32_t here = current_statement;
        current_statement = pending.first_statement;
        shuffle();
        current_statement = here;
        pending.depth = pending.count = pending.statements = 0;
    }
}

void Decoder::stack_operation(uint32_t number, Form form, const Statement &step) {
    uint32_t count = static_cast<uint32_t>(step.count), position = static_cast<uint32_t>(step.position);
    if (count == 0 && !plain) {
        return;
    }
    if (pending.statements == 0) {
        pending.first_statement = number;
    }
    if (!plain && pending.take(form, count, position)) {
        return;
    }
    flush();
    pending.first_statement = number;
    if (!plain && pending.take(form, count, position)) {
        return;
    }
    Instruction instruction{};
    instruction.routine = routine_stack;
    instruction.count = step.count;
    instruction.position = step.position;
    add(instruction, FAST_NONE);
}

void Decoder::statement(uint32_t number) {
    const Statement &step = program.statements[number];
    const Operation &operation = operations[step.operation];
    current_statement = number;
    if (operation.form == Form::Copy || operation.form == Form::Pop || operation.form == Form::Cpop) {
        return stack_operation(number, operation.form, step);
    }
    flush();
    positions[number] = static_cast<uint32_t>(code.instructions.size());
    Instruction instruction{};
    instruction.routine = operation.routine;
    instruction.elementwise = operation.elementwise;
    switch (operation.form) {
    case Form::Const:
        instruction.constant = &program.constants[step.constant];
        instruction.routine = routine_const;
        return add(instruction, FAST_CONST);
    case Form::Call:
        instruction.form = step.function;
        add(instruction, FAST_CALL);
        if (current_function == program.entry) {
            uint32_t form = program.form_names.find(program.functions[step.function].name);
            if (form != Names::NONE) {
                Instruction print{};
                print.routine = routine_form;
                print.form = form;
                add(print, FAST_NONE);
            }
        }
        return;
    case Form::If:
        instruction.form = step.other;
        instruction.routine = routine_if;
        return add(instruction, FAST_IF);
    case Form::Else:
        instruction.form = step.other;
        return add(instruction, FAST_JUMP);
    case Form::Ret:
        return add(instruction, FAST_RET);
    case Form::Exit:
        return add(instruction, FAST_EXIT);
    default:
        return add(instruction, operation.fast);
    }
}

void Decoder::function(uint32_t number) {
    const Function &decoded = program.functions[number];
    current_function = number;
    code.starts.add(static_cast<uint32_t>(code.instructions.size()));
    for (uint32_t index = decoded.first; index <= decoded.last; index++) {
        if (targets[index]) {
            current_statement = index;
            flush();
        }
        positions[index] = static_cast<uint32_t>(code.instructions.size());
        statement(index);
    }
}

// Numbers become pointers once nothing moves any more.
void Decoder::connect() {
    for (size_t index = 0; index < code.instructions.size(); index++) {
        Instruction &instruction = code.instructions[index];
        Origin &origin = code.origins[index];
        instruction.go = interpreter_place(plain ? static_cast<uint32_t>(FAST_OBSERVED) : origin.fast);
        if (origin.fast == FAST_CALL) {
            instruction.target = &code.instructions[code.starts[instruction.form]];
        } else if (origin.fast == FAST_IF || origin.fast == FAST_JUMP) {
            instruction.target = &code.instructions[positions[instruction.form]];
        } else if (origin.fast == FAST_SHUFFLE) {
            instruction.shuffle = &code.shuffles[instruction.form];
        }
    }
}

bool Decoder::run() {
    size_t statements = program.statements.size();
    if (!positions.resize(statements, 0) || !targets.resize(statements, false)) {
        return false;
    }
    for (const Statement &step : program.statements) {
        Form form = operations[step.operation].form;
        if (form == Form::If || form == Form::Else) {
            targets[step.other] = true;
        }
    }
    for (uint32_t number = 0; number < program.functions.size(); number++) {
        function(number);
    }
    // What the entry returns to.
    Instruction end{};
    add(end, FAST_END);
    if (code.instructions.failed || code.origins.failed || code.shuffles.failed || code.places.failed ||
        code.changes.failed || code.starts.failed) {
        return false;
    }
    connect();
    code.instructions.last().go = interpreter_place(FAST_END);
    return true;
}

} // namespace

bool decode(const Program &program, Code &code, bool plain) { return Decoder(program, code, plain).run(); }

} // namespace hadal::vcode
