// SPDX-License-Identifier: Apache-2.0 OR MIT
// Arguments of a translated program as values of the language.
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ndpc/program.h"

namespace ndpc {
namespace {

bool is_word(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) || character == '_';
}

bool take_word(Argument &argument, const char *lower_case) {
    std::size_t length = std::strlen(lower_case);
    for (std::size_t i = 0; i < length; i++) {
        if (std::tolower(static_cast<unsigned char>(argument.text[i])) != lower_case[i]) {
            return false;
        }
    }
    if (is_word(argument.text[length])) {
        return false;
    }
    argument.text += length;
    return true;
}

bool copy_text(Argument &argument, Seq<char> &value, const char *from, std::int64_t count) {
    Seq<char> made;
    if (Seq<char>::make(made, count, argument_site) != done) {
        return argument.fails("less, for want of memory,");
    }
    if (count != 0) {
        std::memcpy(made.data(), from, static_cast<std::size_t>(count));
    }
    value = std::move(made);
    return true;
}

} // namespace

void Argument::skip_space() {
    while (std::isspace(static_cast<unsigned char>(*text))) {
        text++;
    }
}

bool Argument::take(char character) {
    skip_space();
    if (*text != character) {
        return false;
    }
    text++;
    return true;
}

bool read_value(Argument &argument, int &value) {
    argument.skip_space();
    const char *digits = argument.text + (*argument.text == '-' ? 1 : 0);
    if (!std::isdigit(static_cast<unsigned char>(*digits))) {
        return argument.fails("an int");
    }
    char *end;
    errno = 0;
    long long number = std::strtoll(argument.text, &end, 10);
    if (errno != 0 || number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) {
        return argument.fails("an int of 32 bits");
    }
    if (*end == '.' || is_word(*end)) {
        return argument.fails("an int");
    }
    argument.text = end;
    value = static_cast<int>(number);
    return true;
}

bool read_value(Argument &argument, double &value) {
    argument.skip_space();
    const char *digits = argument.text + (*argument.text == '-' ? 1 : 0);
    digits += *digits == '.' ? 1 : 0;
    // No hexadecimal numbers, infinities and the like, which strtod() also knows.
    bool is_number = std::isdigit(static_cast<unsigned char>(*digits)) && std::tolower(digits[1]) != 'x';
    char *end = nullptr;
    double number = is_number ? std::strtod(argument.text, &end) : 0;
    if (!is_number || is_word(*end) || !std::isfinite(number)) {
        return argument.fails("a float");
    }
    argument.text = end;
    value = number;
    return true;
}

bool read_value(Argument &argument, bool &value) {
    argument.skip_space();
    value = take_word(argument, "t") || take_word(argument, "true");
    return value || take_word(argument, "f") || take_word(argument, "false") || argument.fails("T or F");
}

bool read_value(Argument &argument, char &value) {
    if (!argument.take('`') || *argument.text == '\0') {
        return argument.fails("a backquote and a character");
    }
    value = *argument.text++;
    return true;
}

bool read_value(Argument &argument, Seq<char> &value) {
    if (!argument.take('"')) {
        return argument.fails("a string in quotes");
    }
    const char *from = argument.text;
    std::int64_t count = 0;
    for (const char *at = from; *at != '"'; at += *at == '\\' ? 2 : 1, count++) {
        if (*at == '\0' || (*at == '\\' && at[1] == '\0')) {
            return argument.fails("a quote at the end of the string");
        }
    }
    if (!copy_text(argument, value, from, count)) {
        return false;
    }
    for (std::int64_t i = 0; i < count; i++) {
        from += *from == '\\' ? 1 : 0;
        value.data()[i] = *from++;
    }
    argument.text = from + 1;
    return true;
}

bool read_argument(Argument &argument, char &value) {
    if (std::strlen(argument.text) != 1) {
        return argument.fails("one character");
    }
    value = *argument.text++;
    return true;
}

bool read_argument(Argument &argument, Seq<char> &value) {
    std::size_t length = std::strlen(argument.text);
    bool is_copied = copy_text(argument, value, argument.text, static_cast<std::int64_t>(length));
    argument.text += length;
    return is_copied;
}

bool is_read(const Argument &argument, const char *text, const char *parameter) {
    Argument rest = argument;
    rest.skip_space();
    const char *expected = rest.expected;
    if (!expected && *rest.text == '\0') {
        return true;
    }
    std::fprintf(stderr, "argument '%s' for %s: %s is expected", text, parameter,
                 expected ? expected : "nothing more");
    if (*rest.text != '\0') {
        std::fprintf(stderr, " at '%s'\n", rest.text);
    } else {
        std::fprintf(stderr, " at its end\n");
    }
    return false;
}

} // namespace ndpc
