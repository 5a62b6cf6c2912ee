// SPDX-License-Identifier: Apache-2.0 OR MIT
// --list: the program as it was understood.
#include "../core/operations.h"
#include "../io/stream.h"
#include "program.h"

namespace hadal::vcode {

void list(const Program &program) {
    for (uint32_t number = 0; number < program.functions.size(); number++) {
        const Function &function = program.functions[number];
        printf("%s%.*s:\n", number == program.entry ? "entry " : "", static_cast<int>(function.name.size()),
               function.name.data());
        for (uint32_t index = function.first; index <= function.last; index++) {
            const Statement &statement = program.statements[index];
            const Operation &operation = operations[statement.operation];
            printf("%6u %5u  %s", index, statement.line, operation.name);
            if (operation.suffix != Suffix::None) {
                printf(" %s", suffix_name(operation.suffix));
            }
            switch (operation.form) {
            case Form::Copy:
            case Form::Pop:
            case Form::Cpop:
                printf(" %d %d\n", statement.count, statement.position);
                break;
            case Form::Call:
                printf(" %.*s\n", static_cast<int>(program.functions[statement.function].name.size()),
                       program.functions[statement.function].name.data());
                break;
            case Form::If:
                printf(" else %u\n", statement.other);
                break;
            case Form::Else:
                printf(" behind the IF %u\n", statement.other);
                break;
            case Form::Const:
                printf(" %s ", type_name(program.constants[statement.constant].type));
                write_value(stdout, program.constants[statement.constant], false);
                break;
            default:
                putchar('\n');
                break;
            }
        }
    }
}

} // namespace hadal::vcode
