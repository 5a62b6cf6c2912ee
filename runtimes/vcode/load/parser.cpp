// SPDX-License-Identifier: Apache-2.0 OR MIT
// From text to statements: grammar, constants, resolved calls; every error has its line.
#include "../core/memory.h"
#include "../core/operations.h"
#include "comments.h"
#include "lexer.h"
#include "program.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace hadal::vcode {

namespace {

class Parser {
  public:
    Parser(Program &program, std::string_view text, const char *file)
        : program(program), comments(program), lexer(text, comments), file(file) {}
    bool run();

  private:
    bool function();
    bool annotation();
    bool statements(uint32_t function_line);
    bool statement(bool &ended);
    bool plain(uint32_t row);
    bool number(Int &value);
    bool shuffle(Statement &statement);
    bool constant(Statement &statement);
    bool constant_vector(Suffix suffix, Statement &statement);
    bool element(Suffix suffix, Int &value, Float &real);
    bool keep(Cell cell, Statement &statement);
    bool close_branch(Form form, uint32_t line);
    bool resolve();

    bool error(uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
    bool no_memory() { return error(token.line, "out of memory"); }
    bool unexpected(const char *wanted);
    void advance() { token = lexer.next(); }
    bool is_name(std::string_view text) const { return token.kind == Kind::Name && token.text == text; }

    Program &program;
    LoadComments comments;
    Lexer lexer;
    const char *file;
    Token token{};
    Array<uint32_t> open_ifs; // the IF or ELSE statements without their ENDIF
    bool has_main = false;
};

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

Suffix suffix_of(const Token &token) {
    static constexpr struct {
        std::string_view name;
        Suffix suffix;
    } names[] = {{"INT", Suffix::Int},
                 {"BOOL", Suffix::Bool},
                 {"FLOAT", Suffix::Float},
                 {"SEGDES", Suffix::Segdes},
                 {"CHAR", Suffix::Char}};
    if (token.kind == Kind::Name) {
        for (const auto &name : names) {
            if (name.name == token.text) {
                return name.suffix;
            }
        }
    }
    return Suffix::None;
}

bool reserved(std::string_view name) {
    for (std::string_view word : {"INT", "BOOL", "FLOAT", "SEGDES", "CHAR", "T", "F", "STDIN", "STDOUT",
                                  "STDERR", "NULL_STREAM", "I", "O"}) {
        if (word == name) {
            return true;
        }
    }
    return operation_find(name) != UINT32_MAX;
}

bool parse_int(std::string_view text, Int &value) {
    bool negative = text[0] == '-';
    int64_t sum = 0;
    for (char letter : text.substr(text[0] == '-' || text[0] == '+')) {
        sum = sum * 10 + (letter - '0');
        if (sum > static_cast<int64_t>(LENGTH_MAX) + 1) {
            return false;
        }
    }
    sum = negative ? -sum : sum;
    value = static_cast<Int>(sum);
    return sum == value;
}

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

bool Parser::keep(Cell cell, Statement &statement) {
    statement.constant = static_cast<uint32_t>(program.constants.size());
    if (!program.constants.add(cell)) {
        release(cell);
        return no_memory();
    }
    return true;
}

bool Parser::element(Suffix suffix, Int &value, Float &real) {
    int bytes = static_cast<int>(token.text.size() > 60 ? 60 : token.text.size());
    if (suffix == Suffix::Bool) {
        if (!is_name("T") && !is_name("F")) {
            return unexpected("T or F");
        }
        value = token.text == "T";
    } else if (suffix == Suffix::Float) {
        if (token.kind != Kind::Float) {
            return unexpected("a FLOAT (with a dot)");
        }
        // The token ends at a character that no number has, or at the end of the text.
        char copy[512];
        if (token.text.size() >= sizeof copy) {
            return error(token.line, "a number with %zu characters", token.text.size());
        }
        memcpy(copy, token.text.data(), token.text.size());
        copy[token.text.size()] = 0;
        real = strtod(copy, nullptr);
    } else {
        static constexpr struct {
            std::string_view name;
            Int value;
        } streams[] = {{"STDIN", 0}, {"STDOUT", 1}, {"STDERR", 2}, {"NULL_STREAM", -1}};
        if (suffix == Suffix::Int && token.kind == Kind::Name) {
            for (const auto &stream : streams) {
                if (stream.name == token.text) {
                    value = stream.value;
                    advance();
                    return true;
                }
            }
        }
        if (token.kind != Kind::Integer) {
            return unexpected(suffix == Suffix::Int ? "an INT" : "a length");
        }
        if (!parse_int(token.text, value)) {
            return error(token.line, "%.*s does not fit into an INT of 32 bits", bytes, token.text.data());
        }
        if (suffix == Suffix::Segdes && value < 0) {
            return error(token.line, "a segment cannot have the length %.*s", bytes, token.text.data());
        }
    }
    advance();
    return true;
}

bool Parser::constant_vector(Suffix suffix, Statement &statement) {
    uint32_t line = token.line;
    bool many = token.kind == Kind::Open;
    Array<Int> ints;
    Array<Float> reals;
    if (many) {
        advance();
    }
    while (!many || token.kind != Kind::Close) {
        Int value = 0;
        Float real = 0;
        if (!element(suffix, value, real)) {
            return false;
        }
        if (suffix == Suffix::Float ? !reals.add(real) : !ints.add(value)) {
            return no_memory();
        }
        if (!many) {
            break;
        }
    }
    if (many) {
        advance();
    }
    Type type = suffix == Suffix::Float ? Type::Float : suffix == Suffix::Bool ? Type::Bool : Type::Int;
    Cell cell;
    uint64_t length = suffix == Suffix::Float ? reals.size() : ints.size();
    if (!make_vector(cell, type, length)) {
        return no_memory();
    }
    int64_t total = 0;
    for (uint64_t index = 0; index < length; index++) {
        if (suffix == Suffix::Float) {
            static_cast<Float *>(data_of(cell))[index] = reals[index];
        } else if (suffix == Suffix::Bool) {
            static_cast<Bool *>(data_of(cell))[index] = static_cast<Bool>(ints[index]);
        } else {
            static_cast<Int *>(data_of(cell))[index] = ints[index];
            total += ints[index];
        }
    }
    if (suffix != Suffix::Segdes) {
        return keep(cell, statement);
    }
    if (total > LENGTH_MAX) {
        release(cell);
        return error(line, "a descriptor of more than 2147483647 elements");
    }
    Cell descriptor;
    if (!make_segments(descriptor, cell, static_cast<uint32_t>(total))) {
        return no_memory();
    }
    if (descriptor.in_block) {
        Int *offsets = static_cast<Int *>(descriptor.segments->block.data);
        offsets[0] = 0;
        for (uint64_t index = 0; index < length; index++) {
            offsets[index + 1] = offsets[index] + ints[index];
        }
    }
    return keep(descriptor, statement);
}

bool Parser::constant(Statement &statement) {
    Suffix suffix = suffix_of(token);
    if (suffix == Suffix::None) {
        return unexpected("the type of the constant");
    }
    advance();
    if (suffix != Suffix::Char) {
        return constant_vector(suffix, statement);
    }
    if (token.kind != Kind::String) {
        return unexpected("a string");
    }
    Cell cell;
    if (!make_vector(cell, Type::Int, token.text.size())) {
        return no_memory();
    }
    for (size_t index = 0; index < token.text.size(); index++) {
        static_cast<Int *>(data_of(cell))[index] = static_cast<unsigned char>(token.text[index]);
    }
    advance();
    return keep(cell, statement);
}

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

} // namespace

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
