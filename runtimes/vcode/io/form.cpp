// SPDX-License-Identifier: Apache-2.0 OR MIT
// The line "name = value : type" of a form, printed when its function has returned to the entry.
#include "../ops/operands.h"
#include "../ops/routines.h"
#include "value.h"

namespace hadal::vcode {

bool routine_form(Machine &machine, const Instruction &instruction) {
    constexpr size_t COLUMNS = 120;
    const FormLine &form = machine.program->forms[instruction.form];
    ValueCode code;
    if (!code.parse(form.value)) {
        return machine.out_of_memory();
    }
    int name_bytes = static_cast<int>(form.name.size());
    Cell *cells = machine.top - code.cells();
    if (machine.depth() < code.cells() || !code.fits(cells)) {
        return machine.error("the cells of '%.*s' do not have the shape that its code tells", name_bytes,
                             form.name.data());
    }
    for (uint32_t index = 0; index < code.cells(); index++) {
        if (is_data(cells[index].type) && !force(cells[index])) {
            return machine.out_of_memory();
        }
    }
    Array<char> text;
    if (const char *problem = code.print(cells, machine.print_length, text)) {
        return machine.error("the value of '%.*s' cannot be printed: %s", name_bytes, form.name.data(),
                             problem);
    }
    bool broken = form.name.size() + text.size() + form.type.size() + 6 > COLUMNS;
    printf("%.*s =%c", name_bytes, form.name.data(), broken ? '\n' : ' ');
    fwrite(text.begin(), 1, text.size(), stdout);
    printf("%c: %.*s\n", broken ? '\n' : ' ', static_cast<int>(form.type.size()), form.type.data());
    fflush(stdout);
    return true;
}

} // namespace hadal::vcode
