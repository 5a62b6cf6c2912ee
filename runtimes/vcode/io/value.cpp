// SPDX-License-Identifier: Apache-2.0 OR MIT
// How NESL's values print.
#include "value.h"

#include "../core/blocks.h"
#include "../core/lazy.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace hadal::vcode {

namespace {

void add_text(Array<char> &text, std::string_view added) {
    for (char letter : added) {
        text.add(letter);
    }
}

} // namespace

void print_float(Array<char> &text, Float value) {
    char crossing[40], digits[40];
    snprintf(crossing, sizeof crossing, "%.14e", value);
    value = strtod(crossing, nullptr);
    auto end = std::to_chars(digits, digits + sizeof digits - 1, value, std::chars_format::scientific);
    *end.ptr = 0;
    std::string_view all(digits, static_cast<size_t>(end.ptr - digits));
    if (all.front() == '-') {
        text.add('-');
        all.remove_prefix(1);
    }
    size_t mark = all.find('e');
    int exponent = atoi(all.data() + mark + 1);
    char plain[40];
    size_t count = 0;
    for (char letter : all.substr(0, mark)) {
        if (letter != '.') {
            plain[count++] = letter;
        }
    }
    double size = fabs(value);
    if (value != 0 && (size < 1e-3 || size >= 1e7)) {
        text.add(plain[0]);
        text.add('.');
        add_text(text, count > 1 ? std::string_view(plain + 1, count - 1) : "0");
        snprintf(crossing, sizeof crossing, "E%d", exponent);
        return add_text(text, crossing);
    }
    if (exponent < 0) {
        add_text(text, "0.");
        for (int zeros = exponent; zeros < -1; zeros++) {
            text.add('0');
        }
        return add_text(text, {plain, count});
    }
    size_t whole = static_cast<size_t>(exponent) + 1;
    for (size_t index = 0; index < whole; index++) {
        text.add(index < count ? plain[index] : '0');
    }
    text.add('.');
    add_text(text, count > whole ? std::string_view(plain + whole, count - whole) : "0");
}

uint32_t ValueCode::node(std::string_view code, size_t &at) {
    ValueNode made{code[at++], {}, 1, 0, 0};
    if (made.kind == '(') {
        made.first = node(code, at);
        made.second = node(code, at);
        made.cells = nodes.failed ? 0 : nodes[made.first].cells + nodes[made.second].cells;
    } else if (made.kind == '[') {
        made.first = node(code, at);
        made.cells = nodes.failed ? 0 : nodes[made.first].cells + 1;
    } else if (made.kind == '<') {
        size_t colon = code.find(':', at);
        made.name = code.substr(at, colon - at);
        at = colon + 1;
        made.first = node(code, at);
        at++;
        made.cells = nodes.failed ? 0 : nodes[made.first].cells;
    } else if (made.kind == 'u') {
        for (made.cells = 0; at < code.size() && code[at] >= '0' && code[at] <= '9'; at++) {
            made.cells = made.cells * 10 + static_cast<uint32_t>(code[at] - '0');
        }
    }
    nodes.add(made);
    return static_cast<uint32_t>(nodes.size()) - 1;
}

bool ValueCode::parse(std::string_view code) {
    size_t at = 0;
    root = node(code, at);
    return !nodes.failed;
}

bool ValueCode::fits(uint32_t number, const Cell *cells, uint64_t instances) const {
    const ValueNode &node = nodes[number];
    switch (node.kind) {
    case 'i':
    case 'c':
        return cells->type == Type::Int && cells->length == instances;
    case 'b':
        return cells->type == Type::Bool && cells->length == instances;
    case 'f':
        return cells->type == Type::Float && cells->length == instances;
    case '(':
        return fits(node.first, cells, instances) &&
               fits(node.second, cells + nodes[node.first].cells, instances);
    case '[':
        return cells->type == Type::Segdes && cells->length == instances &&
               fits(node.first, cells + 1, total_of(*cells));
    case '<':
        return fits(node.first, cells, instances);
    default:
        return true;
    }
}

namespace {

class Printer {
  public:
    Printer(const Array<ValueNode> &nodes, uint32_t limit, Array<char> &text)
        : nodes(nodes), limit(limit), text(text) {}
    void value(uint32_t number, const Cell *cells, uint64_t instance);
    const char *problem = nullptr;

  private:
    void string(const Cell &codes, uint64_t from, uint64_t to);
    void sequence(const ValueNode &node, const Cell *cells, uint64_t instance);
    void tuple(const ValueNode *node, const Cell *cells, uint64_t instance);

    const Array<ValueNode> &nodes;
    uint32_t limit;
    Array<char> &text;
};

void Printer::string(const Cell &codes, uint64_t from, uint64_t to) {
    text.add('"');
    for (uint64_t index = from; index < to; index++) {
        char letter = static_cast<char>(elements<Int>(codes)[index]);
        if (letter == '"' || letter == '\\') {
            text.add('\\');
        }
        text.add(letter);
    }
    text.add('"');
}

void Printer::sequence(const ValueNode &node, const Cell *cells, uint64_t instance) {
    Bounds bounds(*cells);
    uint64_t from = bounds.start(instance), to = bounds.end(instance);
    if (nodes[node.first].kind == 'c') {
        return string(cells[1], from, to);
    }
    text.add('[');
    for (uint64_t index = from; index < to; index++) {
        if (index - from == limit) {
            add_text(text, ",...]");
            return;
        }
        add_text(text, index == from ? "" : ", ");
        value(node.first, cells + 1, index);
    }
    text.add(']');
}

void Printer::tuple(const ValueNode *node, const Cell *cells, uint64_t instance) {
    text.add('(');
    for (;;) {
        value(node->first, cells, instance);
        add_text(text, ", ");
        cells += nodes[node->first].cells;
        const ValueNode &rest = nodes[node->second];
        if (rest.kind != '(') {
            break;
        }
        node = &rest;
    }
    value(node->second, cells, instance);
    text.add(')');
}

void Printer::value(uint32_t number, const Cell *cells, uint64_t instance) {
    const ValueNode &node = nodes[number];
    char digits[16];
    switch (node.kind) {
    case 'i':
        snprintf(digits, sizeof digits, "%d", elements<Int>(*cells)[instance]);
        return add_text(text, digits);
    case 'b':
        return add_text(text, elements<Bool>(*cells)[instance] ? "T" : "F");
    case 'f': {
        Float real = elements<Float>(*cells)[instance];
        if (!std::isfinite(real)) {
            problem = "it has a number that is infinite or not a number";
        }
        return print_float(text, std::isfinite(real) ? real : 0);
    }
    case 'c':
        text.add('`');
        text.add(static_cast<char>(elements<Int>(*cells)[instance]));
        return;
    case '[':
        return sequence(node, cells, instance);
    case '(':
        return tuple(&node, cells, instance);
    case '<':
        add_text(text, node.name);
        if (nodes[node.first].kind == '(') {
            return tuple(&nodes[node.first], cells, instance);
        }
        text.add('(');
        value(node.first, cells, instance);
        text.add(')');
        return;
    default:
        return add_text(text, "fn");
    }
}

} // namespace

const char *ValueCode::print(const Cell *cells, uint32_t length_limit, Array<char> &text) const {
    Printer printer(nodes, length_limit, text);
    printer.value(root, cells, 0);
    return text.failed ? "there is no memory for its text" : printer.problem;
}

} // namespace hadal::vcode
