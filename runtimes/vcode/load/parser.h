// SPDX-License-Identifier: Apache-2.0 OR MIT
// The parser's state: one token ahead, and the program that grows.
#ifndef HADAL_VCODE_PARSER_H
#define HADAL_VCODE_PARSER_H

#include "../core/operations.h"
#include "comments.h"
#include "lexer.h"
#include "program.h"

namespace hadal::vcode {

// The suffix that a token is, or Suffix::None.
Suffix suffix_of(const Token &token);
// The value of an integer token; false: it does not fit.
bool parse_int(std::string_view text, Int &value);

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

} // namespace hadal::vcode

#endif
