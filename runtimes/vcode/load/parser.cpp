// SPDX-License-Identifier: Apache-2.0 OR MIT
// From text to statements: grammar, constants, resolved calls; every error has its line.
#include "parser.h"

#include <cstdarg>
#include <cstdio>

namespace hadal::vcode {

bool Parser::error(uint32_t line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fflush(stdout);
    fprintf(stderr, "%s:%u: error: ", file, line);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return false;
}

bool Parser::unexpected(const char *wanted) {
    int bytes = static_cast<int>(token.text.size() > 60 ? 60 : token.text.size());
    switch (token.kind) {
    case Kind::End:
        return error(token.line, "%s is expected, but the text ends", wanted);
    case Kind::Wrong:
        return error(token.line, "%.*s", bytes, token.text.data());
    case Kind::String:
        return error(token.line, "%s is expected, not the string \"%.*s\"", wanted, bytes, token.text.data());
    default:
        return error(token.line, "%s is expected, not '%.*s'", wanted, bytes, token.text.data());
    }
}

namespace {

bool reserved(std::string_view name) {
    for (std::string_view word : {"INT", "BOOL", "FLOAT", "SEGDES", "CHAR", "T", "F", "STDIN", "STDOUT",
                                  "STDERR", "NULL_STREAM", "I", "O"}) {
        if (word == name) {
            return true;
        }
    }
    return operation_find(name) != UINT32_MAX;
}

} // namespace

bool Parser::number(Int &value) {
    if (token.kind != Kind::Integer) {
        return unexpected("a number that is not negative");
    }
    if (!parse_int(token.text, value) || value < 0) {
        return error(token.line, "%.*s is not a number from 0 to 2147483647",
                     static_cast<int>(token.text.size() > 60 ? 60 : token.text.size()), token.text.data());
    }
    advance();
    return true;
}

bool Parser::shuffle(Statement &statement) { return number(statement.count) && number(statement.position); }

bool Parser::plain(uint32_t row) {
    const char *name = operations[row].name;
    Statement statement{};
    statement.line = token.line;
    advance();
    if (operations[row].suffix != Suffix::None) {
        uint32_t first = row;
        Suffix suffix = suffix_of(token);
        while (row < operation_count && strcmp(operations[row].name, name) == 0 &&
               operations[row].suffix != suffix) {
            row++;
        }
        if (row == operation_count || strcmp(operations[row].name, name) != 0) {
            char wanted[120];
            size_t used = static_cast<size_t>(snprintf(wanted, sizeof wanted, "after %s one of", name));
            for (row = first; row < operation_count && strcmp(operations[row].name, name) == 0; row++) {
                used += static_cast<size_t>(snprintf(wanted + used, sizeof wanted - used, " %s",
                                                     suffix_name(operations[row].suffix)));
            }
            return unexpected(wanted);
        }
        advance();
    }
    statement.operation = row;
    return program.statements.add(statement) || no_memory();
}

bool Parser::close_branch(Form form, uint32_t line) {
    if (open_ifs.empty()) {
        return error(line, "%s without an IF", form == Form::Else ? "ELSE" : "ENDIF");
    }
    Statement &before = program.statements[open_ifs.last()];
    uint32_t here = static_cast<uint32_t>(program.statements.size());
    if (form == Form::Else) {
        if (operations[before.operation].form == Form::Else) {
            return error(line, "a second ELSE for the IF before line %u", before.line);
        }
        before.other = here + 1; // behind the ELSE, which comes now
        open_ifs.last() = here;
    } else {
        before.other = here;
        open_ifs.drop_last();
    }
    return true;
}

bool Parser::statement(bool &ended) {
    if (token.kind != Kind::Name) {
        return unexpected("an operation or RET");
    }
    uint32_t row = operation_find(token.text);
    if (row == UINT32_MAX) {
        return error(token.line, "there is no operation '%.*s'",
                     static_cast<int>(token.text.size() > 60 ? 60 : token.text.size()), token.text.data());
    }
    Form form = operations[row].form;
    if (form == Form::Plain) {
        return plain(row);
    }
    Statement added{};
    added.operation = row;
    added.line = token.line;
    if (form == Form::Func) {
        return error(token.line, "FUNC inside a function: RET is missing");
    }
    if (form == Form::Ret && !open_ifs.empty()) {
        return error(token.line, "RET inside the IF of line %u: ENDIF is missing",
                     program.statements[open_ifs.last()].line);
    }
    if ((form == Form::Else || form == Form::Endif) && !close_branch(form, token.line)) {
        return false;
    }
    if (form == Form::If && !open_ifs.add(static_cast<uint32_t>(program.statements.size()))) {
        return no_memory();
    }
    advance();
    ended = form == Form::Ret;
    if (form == Form::Endif) {
        return true;
    }
    if (form == Form::Copy || form == Form::Pop || form == Form::Cpop) {
        if (!shuffle(added)) {
            return false;
        }
    } else if (form == Form::Const) {
        if (!constant(added)) {
            return false;
        }
    } else if (form == Form::Call) {
        if (token.kind != Kind::Name) {
            return unexpected("the name of a function");
        }
        added.name_text = token.text.data();
        added.name_bytes = static_cast<uint32_t>(token.text.size());
        advance();
    }
    return program.statements.add(added) || no_memory();
}

bool Parser::annotation() {
    for (std::string_view word : {"I", "O"}) {
        if (!is_name(word)) {
            return word == "I" ? true : unexpected("O after the types behind I");
        }
        advance();
        while (suffix_of(token) != Suffix::None) {
            advance();
        }
    }
    return true;
}

bool Parser::function() {
    if (!is_name("FUNC")) {
        return unexpected("FUNC");
    }
    uint32_t line = token.line;
    advance();
    if (token.kind != Kind::Name) {
        return unexpected("the name of the function");
    }
    std::string_view name = token.text;
    int bytes = static_cast<int>(name.size() > 60 ? 60 : name.size());
    if (reserved(name)) {
        return error(token.line, "'%.*s' is a reserved word and cannot be a function", bytes, name.data());
    }
    uint32_t number = static_cast<uint32_t>(program.functions.size());
    if (name == "MAIN") {
        if (has_main) {
            return error(token.line, "a second function MAIN");
        }
        has_main = true;
        program.entry = number;
    } else if (uint32_t other = program.function_names.find(name); other != Names::NONE) {
        fprintf(stderr, "%s:%u: warning: function '%.*s' is also in line %u; calls go to the last one\n",
                file, token.line, bytes, name.data(), program.functions[other].line);
    }
    Function added{name, line, static_cast<uint32_t>(program.statements.size()), 0, Names::NONE};
    if (!program.function_names.put(name, number) || !program.functions.add(added)) {
        return no_memory();
    }
    advance();
    if (!annotation()) {
        return false;
    }
    for (bool ended = false; !ended;) {
        if (token.kind == Kind::End) {
            return error(token.line, "the text ends inside the function '%.*s' of line %u: RET is missing",
                         bytes, name.data(), line);
        }
        if (!statement(ended)) {
            return false;
        }
    }
    program.functions.last().last = static_cast<uint32_t>(program.statements.size()) - 1;
    return true;
}

bool Parser::resolve() {
    for (Statement &call : program.statements) {
        if (operations[call.operation].form == Form::Call) {
            uint32_t number = program.function_names.find(call.name());
            if (number == Names::NONE) {
                return error(call.line, "there is no function '%.*s'",
                             static_cast<int>(call.name_bytes > 60 ? 60 : call.name_bytes), call.name_text);
            }
            call.function = number;
        }
    }
    for (Function &function : program.functions) {
        function.source = program.source_names.find(function.name);
    }
    return true;
}

bool Parser::run() {
    advance();
    do {
        if (!function()) {
            return false;
        }
    } while (token.kind != Kind::End);
    if (comments.failed()) {
        return error(comments.error_line(), "%s", comments.error_text());
    }
    return resolve();
}

Program::~Program() {
    for (const Cell &constant : constants) {
        release(constant);
    }
}

bool load(Program &program, std::string_view text, const char *file) {
    program.file = file;
    return Parser(program, text, file).run();
}

} // namespace hadal::vcode
