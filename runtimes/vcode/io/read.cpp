// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values from text. A program's input is anybody's: what is wrong with it is a message to the program.
#include "stream.h"

#include <cerrno>
#include <cstdlib>

namespace hadal::vcode {

namespace {

bool blank(int letter) {
    return letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r' || letter == '\f' ||
           letter == '\v';
}

int skip_blanks(FILE *stream) {
    int letter;
    do {
        letter = getc(stream);
    } while (blank(letter));
    return letter;
}

// The letters of one number, up to a blank or bracket.
bool number_text(FILE *stream, int letter, char *text, size_t bytes) {
    size_t used = 0;
    while (letter != EOF && !blank(letter) && letter != ')' && letter != ']' && letter != '(' &&
           letter != '[') {
        if (used + 1 == bytes) {
            return false;
        }
        text[used++] = static_cast<char>(letter);
        letter = getc(stream);
    }
    if (letter != EOF) {
        ungetc(letter, stream);
    }
    text[used] = 0;
    return used > 0;
}

const char *read_int(FILE *stream, int letter, Int &value) {
    char text[64], *end;
    if (!number_text(stream, letter, text, sizeof text)) {
        return "an element is not an integer";
    }
    errno = 0;
    long number = strtol(text, &end, 10);
    value = static_cast<Int>(number);
    return *end != 0                       ? "an element is not an integer"
           : errno != 0 || number != value ? "an integer does not fit into 32 bits"
                                           : nullptr;
}

const char *read_float(FILE *stream, int letter, Float &value) {
    char text[512], *end;
    if (!number_text(stream, letter, text, sizeof text)) {
        return "an element is not a number";
    }
    value = strtod(text, &end);
    return *end != 0 ? "an element is not a number" : nullptr;
}

template <typename T> bool vector_from(const Array<T> &values, Cell &cell) {
    if (values.failed || !make_vector(cell, TypeOf<T>::value, values.size())) {
        return false;
    }
    if (!values.empty()) {
        memcpy(data_of(cell), values.begin(), values.size() * sizeof(T));
    }
    return true;
}

const char *read_characters(FILE *stream, Array<Int> &codes) {
    for (;;) {
        int letter = getc(stream);
        if (letter == EOF) {
            return "the closing quote is missing";
        }
        if (letter == '"') {
            return nullptr;
        }
        if (!codes.add(letter)) {
            return "out of memory";
        }
    }
}

const char *descriptor_from(Cell lengths, Cell &cell, bool &memory) {
    uint64_t total = 0;
    for (uint32_t index = 0; index < lengths.length; index++) {
        Int length = elements<Int>(lengths)[index];
        total += static_cast<uint32_t>(length);
        if (length < 0 || total > LENGTH_MAX) {
            release(lengths);
            return length < 0 ? "a length is negative" : "the lengths are too large";
        }
    }
    if (!make_segments(cell, lengths, static_cast<uint32_t>(total))) {
        memory = false;
        return "out of memory";
    }
    if (cell.in_block) {
        Int *offsets = static_cast<Int *>(cell.segments->block.data);
        offsets[0] = 0;
        for (uint32_t index = 0; index < cell.length; index++) {
            offsets[index + 1] = offsets[index] + elements<Int>(cell.segments->lengths)[index];
        }
    }
    return nullptr;
}

} // namespace

const char *read_value(FILE *stream, Suffix suffix, Cell &cell, bool &memory) {
    memory = true;
    int open = suffix == Suffix::Char ? '"' : suffix == Suffix::Segdes ? '[' : '(';
    int close = suffix == Suffix::Segdes ? ']' : ')';
    int letter = skip_blanks(stream);
    if (letter == EOF) {
        return "end of file";
    }
    if (letter != open) {
        return open == '"'   ? "the opening quote is missing"
               : open == '[' ? "the opening bracket [ is missing"
                             : "the opening parenthesis is missing";
    }
    Array<Int> ints;
    Array<Float> floats;
    Array<Bool> bools;
    const char *problem = nullptr;
    if (suffix == Suffix::Char) {
        problem = read_characters(stream, ints);
    } else {
        while (problem == nullptr && (letter = skip_blanks(stream)) != close) {
            Int value = 0;
            Float real = 0;
            if (letter == EOF || letter == ')' || letter == ']') {
                problem =
                    letter == EOF ? "end of file before the closing bracket" : "a wrong closing bracket";
            } else if (suffix == Suffix::Float) {
                problem = read_float(stream, letter, real);
                floats.add(real);
            } else if (suffix == Suffix::Bool) {
                problem = letter == 'T' || letter == 'F' ? nullptr : "an element is not T or F";
                bools.add(letter == 'T');
            } else {
                problem = read_int(stream, letter, value);
                ints.add(value);
            }
        }
    }
    if (problem != nullptr) {
        return problem;
    }
    bool made = suffix == Suffix::Float  ? vector_from(floats, cell)
                : suffix == Suffix::Bool ? vector_from(bools, cell)
                                         : vector_from(ints, cell);
    if (!made) {
        memory = false;
        return "out of memory";
    }
    return suffix == Suffix::Segdes ? descriptor_from(cell, cell, memory) : nullptr;
}

} // namespace hadal::vcode
