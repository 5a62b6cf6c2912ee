// SPDX-License-Identifier: Apache-2.0 OR MIT
// A loaded program: statements as they are in the text, and what comments tell about forms and sources.
#ifndef HADAL_VCODE_PROGRAM_H
#define HADAL_VCODE_PROGRAM_H

#include "../core/cell.h"
#include "../core/text.h"

namespace hadal::vcode {

struct Statement {
    uint32_t operation; // row of the table
    uint32_t line;
    union {
        struct {
            Int count, position; // COPY, POP, CPOP
        };
        struct {
            uint32_t function;     // CALL: number of the function, once resolved
            uint32_t name_bytes;   // of the name in the text
            const char *name_text; // before
        };
        uint32_t constant; // CONST: its number
        uint32_t other;    // IF: the statement behind its ELSE or ENDIF; ELSE: the one behind the ENDIF
    };
    std::string_view name() const { return {name_text, name_bytes}; }
};

struct Function {
    std::string_view name;
    uint32_t line;
    uint32_t first, last; // statements; the last is RET
    uint32_t source;      // what {hadal-source} says about it, or Names::NONE
};

// {hadal-form FORM_1 name value code type text at line}
struct FormLine {
    std::string_view function, name, value, type;
    uint32_t line;
};

// {hadal-source FUNCTION name file line}
struct SourceLine {
    std::string_view function, name, file;
    uint32_t line;
};

// The text stays as long as the program: names point into it.
struct Program {
    Program() = default;
    Program(const Program &) = delete;
    Program &operator=(const Program &) = delete;
    ~Program();

    const char *file = "";
    Array<Statement> statements;
    Array<Function> functions; // the last of several with one name serves
    Names function_names;
    uint32_t entry = 0;
    Array<Cell> constants;
    Array<FormLine> forms;
    Names form_names;
    Array<SourceLine> sources;
    Names source_names;
};

// Loads a text. On false, the error has been printed to standard error.
bool load(Program &program, std::string_view text, const char *file);

// Prints what was loaded, one statement a line.
void list(const Program &program);

} // namespace hadal::vcode

#endif
