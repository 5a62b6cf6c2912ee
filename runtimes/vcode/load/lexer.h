// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tokens of VCODE text.
#ifndef HADAL_VCODE_LEXER_H
#define HADAL_VCODE_LEXER_H

#include <cstdint>
#include <string_view>

namespace hadal::vcode {

enum class Kind : uint8_t { End, Integer, Float, String, Name, Open, Close, Wrong };

struct Token {
    Kind kind;
    uint32_t line;
    std::string_view text; // of a string: what is between the quotes; of a wrong one: a message
};

class Comments {
  public:
    virtual void comment(std::string_view text) = 0;

  protected:
    ~Comments() = default;
};

class Lexer {
  public:
    Lexer(std::string_view text, Comments &comments)
        : at(text.data()), end(text.data() + text.size()), comments(comments) {}
    // The next token. Comments before it go to the receiver.
    Token next();

  private:
    bool skip_blanks(Token &wrong);
    const char *number_end(bool &is_float) const;

    const char *at, *end;
    uint32_t line = 1;
    Comments &comments;
};

} // namespace hadal::vcode

#endif
