// SPDX-License-Identifier: Apache-2.0 OR MIT
// Runs one program from its text.
#include "core/observe.h"
#include "io/final.h"
#include "io/value.h"
#include "main.h"

namespace hadal::vcode {

int run_text(Machine &machine, const Options &options, std::string_view text, const char *name,
             uint32_t *kept) {
    Program program;
    if (!load(program, text, name)) {
        return 1;
    }
    if (options.list) {
        list(program);
        return 0;
    }
    Code code;
    machine.trace = options.trace ? stderr : nullptr;
    if (!decode(program, code, options.trace || options.counts || options.work > 0)) {
        fputs("vcode: out of memory\n", stderr);
        return 1;
    }
    machine.program = &program;
    machine.code = &code;
    machine.work_left = options.work > 0 ? options.work : UINT64_MAX;
    machine.at = nullptr;
    machine.exited = false;
    bool fine = interpret(machine, &code.instructions[code.starts[program.entry]]);
    if (machine.exited) {
        fine = program.forms.empty();
    } else if (fine && program.forms.empty()) {
        fine = print_stack(machine, machine.base);
    }
    if (fine && !machine.exited && kept != nullptr) {
        ValueCode value;
        *kept = static_cast<uint32_t>(machine.depth());
        if (!program.forms.empty() && value.parse(program.forms.last().value) && value.cells() < *kept) {
            *kept = value.cells();
        }
    }
    machine.program = nullptr;
    machine.code = nullptr;
    return fine ? 0 : 1;
}

} // namespace hadal::vcode
