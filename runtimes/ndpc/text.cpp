// SPDX-License-Identifier: Apache-2.0 OR MIT
// Texts inside programs: @x and s || n.
#include "ndpc/text.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ndpc {
namespace {

constexpr int most_digits = 8;

// Drops zeros at the end of a number with a point, but for one digit behind it.
void trim_zeros(char *text) {
    char *end = text + std::strlen(text);
    while (end[-1] == '0' && end[-2] != '.') {
        *--end = '\0';
    }
}

} // namespace

void add_inner(Text &text, int value) { add_value(text, value); }
void add_inner(Text &text, bool value) { text.add(value ? 't' : 'f'); }
void add_inner(Text &text, char value) { add_value(text, value); }

// Up to eight digits, plain for exponents from -2 to 7, else as 1.5e-7.
void add_inner(Text &text, double value) {
    char digits[64];
    if (!std::isfinite(value)) {
        std::snprintf(digits, sizeof digits, "%f", value);
        text.add(digits);
        return;
    }
    std::snprintf(digits, sizeof digits, "%.*e", most_digits - 1, value);
    char *mark = std::strchr(digits, 'e');
    int exponent = std::atoi(mark + 1);
    if (exponent >= -2 && exponent <= most_digits - 1) {
        int behind = most_digits - 1 - exponent;
        std::snprintf(digits, sizeof digits, "%.*f", behind < 1 ? 1 : behind, value);
        trim_zeros(digits);
        text.add(digits);
        return;
    }
    *mark = '\0';
    trim_zeros(digits);
    text.add(digits);
    std::snprintf(digits, sizeof digits, "e%+d", exponent);
    text.add(digits);
}

int take_text(Seq<char> &result, const Text &text, const Site &site) {
    if (!text.is_whole()) {
        return fail(site, "Out of memory: no room for a text.");
    }
    Seq<char> made;
    NDPC_TRY(Seq<char>::make(made, static_cast<std::int64_t>(text.bytes()), site));
    if (text.bytes() != 0) {
        std::memcpy(made.data(), text.data(), text.bytes());
    }
    result = std::move(made);
    return done;
}

int pad(Seq<char> &result, const Seq<char> &text, int columns, const Site &site) {
    std::int64_t wanted = columns < 0 ? -std::int64_t{columns} : columns;
    std::int64_t blanks = wanted > text.count() ? wanted - text.count() : 0;
    std::int64_t before = columns < 0 ? blanks : 0;
    return fill(result, text.count() + blanks, site, [&](std::int64_t i, char &item) -> int {
        item = i < before || i - before >= text.count() ? ' ' : text[i - before];
        return done;
    });
}

} // namespace ndpc
