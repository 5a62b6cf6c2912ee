// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values as NESL prints them.
#include "ndpc/print.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace ndpc {
namespace {

constexpr std::size_t line_columns = 120;
constexpr int most_digits = 15; // as many as a value brings from the machine to who prints it

// Digits and exponent of a positive number, with the fewest digits that identify what 15 digits say.
struct Decimal {
    char digits[most_digits + 1];
    int count;
    int exponent; // of the first digit
};

Decimal shortest(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*e", most_digits - 1, value);
    double rounded = std::strtod(text, nullptr);
    for (int digits = 1; digits <= most_digits; digits++) {
        std::snprintf(text, sizeof text, "%.*e", digits - 1, rounded);
        if (std::strtod(text, nullptr) == rounded) {
            break;
        }
    }
    Decimal decimal{};
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at != '.') {
            decimal.digits[decimal.count++] = *at;
        }
    }
    decimal.exponent = std::atoi(at + 1);
    while (decimal.count > 1 && decimal.digits[decimal.count - 1] == '0') {
        decimal.count--;
    }
    return decimal;
}

void add_digits(Text &text, const Decimal &decimal, int from, int to) {
    for (int i = from; i < to; i++) {
        text.add(i < decimal.count ? decimal.digits[i] : '0');
    }
}

// The point after `whole` digits, with at least one digit behind it.
void add_plain(Text &text, const Decimal &decimal, int whole) {
    add_digits(text, decimal, 0, whole);
    text.add('.');
    add_digits(text, decimal, whole, decimal.count > whole ? decimal.count : whole + 1);
}

void add_escaped(Text &text, char character) {
    if (character == '"' || character == '\\') {
        text.add('\\');
    }
    text.add(character);
}

} // namespace

Text::~Text() { std::free(data_); }

void Text::add(const char *text, std::size_t bytes) {
    if (bytes_ + bytes > room_) {
        std::size_t room = 2 * room_ + bytes + 64;
        void *larger = std::realloc(data_, room);
        if (!larger) {
            is_whole_ = false;
            return;
        }
        data_ = static_cast<char *>(larger);
        room_ = room;
    }
    std::memcpy(data_ + bytes_, text, bytes);
    bytes_ += bytes;
}

void Text::add(const char *text) { add(text, std::strlen(text)); }

void add_value(Text &text, int value) {
    char digits[16];
    std::snprintf(digits, sizeof digits, "%d", value);
    text.add(digits);
}

void add_value(Text &text, bool value) { text.add(value ? 'T' : 'F'); }

void add_value(Text &text, char value) {
    text.add('`');
    text.add(value);
}

void add_value(Text &text, const Seq<char> &value) {
    text.add('"');
    for (char character : value) {
        add_escaped(text, character);
    }
    text.add('"');
}

// Plain from 10^-3 to below 10^7, else as 1.5E7.
void add_value(Text &text, double value) {
    if (!std::isfinite(value)) {
        text.is_finite = false;
        return;
    }
    if (std::signbit(value)) {
        text.add('-');
        value = -value;
    }
    if (value == 0) {
        text.add("0.0");
        return;
    }
    Decimal decimal = shortest(value);
    if (decimal.exponent >= 7 || decimal.exponent < -3) {
        add_plain(text, decimal, 1);
        text.add('E');
        add_value(text, decimal.exponent);
    } else if (decimal.exponent >= 0) {
        add_plain(text, decimal, decimal.exponent + 1);
    } else {
        text.add("0.");
        for (int i = -1; i > decimal.exponent; i--) {
            text.add('0');
        }
        add_digits(text, decimal, 0, decimal.count);
    }
}

int print_line(const char *name, const Text &value, const char *type, const Site &site) {
    if (!value.is_finite) {
        return fail(site, "A float that is infinite or not a number cannot be printed.");
    }
    if (!value.is_whole()) {
        return fail(site, "Out of memory: no room for the text of a value.");
    }
    bool is_long = std::strlen(name) + 3 + value.bytes() + 3 + std::strlen(type) > line_columns;
    std::fputs(name, stdout);
    std::fputs(is_long ? " =\n" : " = ", stdout);
    std::fwrite(value.data(), 1, value.bytes(), stdout);
    std::fputs(is_long ? "\n: " : " : ", stdout);
    std::fputs(type, stdout);
    std::fputs("\n", stdout);
    std::fflush(stdout);
    return done;
}

} // namespace ndpc
