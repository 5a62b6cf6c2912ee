// SPDX-License-Identifier: Apache-2.0 OR MIT
// The longest token wins; of a number and a name of the same length it is the number.
#include "lexer.h"

namespace hadal::vcode {

namespace {

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool in_name(char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || is_digit(letter) ||
           (letter != 0 && std::string_view("-+*/%<>=!._").find(letter) != std::string_view::npos);
}

} // namespace

bool Lexer::skip_blanks(Token &wrong) {
    while (at < end) {
        if (*at == '\n') {
            line++;
            at++;
        } else if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\f' || *at == '\v') {
            at++;
        } else if (*at == '{') {
            const char *start = ++at;
            uint32_t first_line = line;
            while (at < end && *at != '}') {
                line += *at++ == '\n';
            }
            if (at == end) {
                wrong = {Kind::Wrong, first_line, "a comment without its closing '}'"};
                return false;
            }
            comments.comment({start, static_cast<size_t>(at - start)});
            at++;
        } else {
            break;
        }
    }
    return true;
}

const char *Lexer::number_end(bool &is_float) const {
    const char *cursor = at;
    is_float = false;
    if (cursor < end && (*cursor == '-' || *cursor == '+')) {
        cursor++;
    }
    const char *digits = cursor;
    while (cursor < end && is_digit(*cursor)) {
        cursor++;
    }
    if (cursor == digits) {
        return at;
    }
    if (cursor < end && *cursor == '.') {
        is_float = true;
        cursor++;
        while (cursor < end && is_digit(*cursor)) {
            cursor++;
        }
        if (cursor < end && (*cursor == 'e' || *cursor == 'E')) {
            const char *exponent = cursor + 1;
            if (exponent < end && (*exponent == '-' || *exponent == '+')) {
                exponent++;
            }
            if (exponent < end && is_digit(*exponent)) {
                while (exponent < end && is_digit(*exponent)) {
                    exponent++;
                }
                cursor = exponent;
            }
        }
    }
    return cursor;
}

Token Lexer::next() {
    Token token{Kind::End, line, {}};
    if (!skip_blanks(token)) {
        return token;
    }
    token.line = line;
    if (at == end) {
        return token;
    }
    const char *start = at;
    if (*at == '(' || *at == ')') {
        token.kind = *at++ == '(' ? Kind::Open : Kind::Close;
        token.text = {start, 1};
        return token;
    }
    if (*at == '"') {
        start = ++at;
        while (at < end && *at != '"') {
            line += *at++ == '\n';
        }
        if (at == end) {
            token.kind = Kind::Wrong;
            token.text = "a string without its closing quote";
            return token;
        }
        token.kind = Kind::String;
        token.text = {start, static_cast<size_t>(at - start)};
        at++;
        return token;
    }
    bool is_float;
    const char *number = number_end(is_float), *name = at;
    while (name < end && in_name(*name)) {
        name++;
    }
    if (name == start && number == start) {
        token.kind = Kind::Wrong;
        token.text = "a character that no token has";
        at++;
    } else if (number >= name) {
        token.kind = is_float ? Kind::Float : Kind::Integer;
        token.text = {start, static_cast<size_t>(number - start)};
        at = number;
    } else {
        token.kind = Kind::Name;
        token.text = {start, static_cast<size_t>(name - start)};
        at = name;
    }
    return token;
}

} // namespace hadal::vcode
