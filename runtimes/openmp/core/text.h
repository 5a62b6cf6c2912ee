// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reads the values of environment variables: words without regard to case, numbers, blanks in between.
#ifndef HADAL_OMP_TEXT_H
#define HADAL_OMP_TEXT_H

#include <cctype>
#include <cstdint>
#include <cstring>
#include <strings.h>

namespace hadal::omp {

class Text {
  public:
    explicit Text(const char *text) : at(text) { skip_blanks(); }

    bool is_over() const { return *at == '\0'; }
    char peek() const { return *at; }
    const char *rest() const { return at; }

    // Each of these takes something from the front, and the blanks behind it; false if it is not there.
    bool take(char wanted) {
        if (*at != wanted) {
            return false;
        }
        at++;
        skip_blanks();
        return true;
    }
    bool take_word(const char *wanted) {
        size_t len = strlen(wanted);
        if (strncasecmp(at, wanted, len) != 0 || is_of_word(at[len])) {
            return false;
        }
        at += len;
        skip_blanks();
        return true;
    }
    // Decimal; one that is too large becomes the largest.
    bool take_number(uint64_t *number) {
        const char *digits = *at == '+' ? at + 1 : at;
        if (!isdigit(static_cast<unsigned char>(*digits))) {
            return false;
        }
        uint64_t value = 0;
        for (; isdigit(static_cast<unsigned char>(*digits)); digits++) {
            if (__builtin_mul_overflow(value, uint64_t{10}, &value) ||
                __builtin_add_overflow(value, static_cast<uint64_t>(*digits - '0'), &value)) {
                value = UINT64_MAX;
            }
        }
        at = digits;
        skip_blanks();
        *number = value;
        return true;
    }
    bool take_integer(int64_t *integer) {
        bool is_negative = *at == '-';
        if (is_negative) {
            at++;
        }
        uint64_t number;
        if (!take_number(&number)) {
            return false;
        }
        uint64_t limited = number > INT64_MAX ? INT64_MAX : number;
        *integer = is_negative ? -static_cast<int64_t>(limited) : static_cast<int64_t>(limited);
        return true;
    }
    // True or false; the other words are those that other run-times take.
    bool take_bool(bool *value) {
        if (take_word("true") || take_word("1") || take_word("yes") || take_word("on")) {
            *value = true;
        } else if (take_word("false") || take_word("0") || take_word("no") || take_word("off")) {
            *value = false;
        } else {
            return false;
        }
        return true;
    }

  private:
    const char *at;

    static bool is_of_word(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; }
    void skip_blanks() {
        while (isspace(static_cast<unsigned char>(*at))) {
            at++;
        }
    }
};

} // namespace hadal::omp

#endif
