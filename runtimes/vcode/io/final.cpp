// SPDX-License-Identifier: Apache-2.0 OR MIT
// The final print of a program: its whole stack, from the bottom to the top.
#include "final.h"

#include "stream.h"

namespace hadal::vcode {

bool print_stack(Machine &machine, const Cell *from) {
    static const char *const halves[] = {"", "Int", "Bool", "Float", "Segdes", "Pair"};
    for (Cell *cell = machine.base + (from - machine.base); cell < machine.top; cell++) {
        if (cell->type == Type::Pair) {
            printf("pair(%s,%s) \n", halves[static_cast<int>(cell->pair->first.type)],
                   halves[static_cast<int>(cell->pair->second.type)]);
            continue;
        }
        if (is_data(cell->type) && !force(*cell)) {
            return machine.out_of_memory();
        }
        write_value(stdout, *cell, false);
    }
    return fflush(stdout) == 0;
}

} // namespace hadal::vcode
