// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values as text: the formats of WRITE and of the final print.
#include "stream.h"

namespace hadal::vcode {

namespace {

// Collects text before it goes to the stream: vectors may be long, elements are short.
class Text {
  public:
    explicit Text(FILE *stream) : stream(stream) {}
    ~Text() { flush(); }
    // Room for one element.
    char *room() {
        if (used > sizeof buffer - ELEMENT) {
            flush();
        }
        return buffer + used;
    }
    void took(int bytes) { used += static_cast<size_t>(bytes); }
    void add(char letter) {
        *room() = letter;
        used++;
    }
    static constexpr size_t ELEMENT = 32;

  private:
    void flush() {
        fwrite(buffer, 1, used, stream);
        used = 0;
    }
    FILE *stream;
    char buffer[4096];
    size_t used = 0;
};

int format_int(char *to, Int value) {
    char digits[12];
    int count = 0, bytes = 0;
    uint32_t rest = value < 0 ? -static_cast<uint32_t>(value) : static_cast<uint32_t>(value);
    do {
        digits[count++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        to[bytes++] = '-';
    }
    while (count > 0) {
        to[bytes++] = digits[--count];
    }
    return bytes;
}

void write_ints(Text &text, const Cell &cell) {
    const Int *values = elements<Int>(cell);
    for (uint32_t index = 0; index < cell.length; index++) {
        text.add(' ');
        text.took(format_int(text.room(), values[index]));
    }
}

} // namespace

bool write_value(FILE *stream, const Cell &cell, bool characters) {
    {
        Text text(stream);
        if (characters) {
            const Int *codes = elements<Int>(cell);
            for (uint32_t index = 0; index < cell.length; index++) {
                text.add(static_cast<char>(codes[index]));
            }
            return ferror(stream) == 0;
        }
        text.add(cell.type == Type::Segdes ? '[' : '(');
        switch (cell.type) {
        case Type::Int:
            write_ints(text, cell);
            break;
        case Type::Bool:
            for (uint32_t index = 0; index < cell.length; index++) {
                text.add(' ');
                text.add(elements<Bool>(cell)[index] ? 'T' : 'F');
            }
            break;
        case Type::Float:
            for (uint32_t index = 0; index < cell.length; index++) {
                text.add(' ');
                text.took(snprintf(text.room(), Text::ELEMENT, "%.14e", elements<Float>(cell)[index]));
            }
            break;
        default:
            write_ints(text, cell.in_block ? cell.segments->lengths : int_cell(static_cast<Int>(cell.total)));
            break;
        }
        text.add(' ');
        text.add(cell.type == Type::Segdes ? ']' : ')');
        text.add('\n');
    }
    return ferror(stream) == 0;
}

} // namespace hadal::vcode
