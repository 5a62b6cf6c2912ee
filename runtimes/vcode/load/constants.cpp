// SPDX-License-Identifier: Apache-2.0 OR MIT
// Constants: their elements all have the written form of their type.
#include "../core/memory.h"
#include "parser.h"

#include <cstdlib>

namespace hadal::vcode {

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

} // namespace hadal::vcode
