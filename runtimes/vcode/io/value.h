// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values of NESL as text, by their code in a {hadal-form} comment.
#ifndef HADAL_VCODE_VALUE_H
#define HADAL_VCODE_VALUE_H

#include "../core/text.h"
#include "../load/program.h"

namespace hadal::vcode {

// A value code, taken apart.
struct ValueNode {
    char kind;             // i b f c [ ( < u
    std::string_view name; // of a datatype
    uint32_t cells;        // how many it has
    uint32_t first;        // node of the content, or of the first of a pair
    uint32_t second;       // of a pair
};

class ValueCode {
  public:
    // The code is valid (value_code_valid). False: out of memory.
    bool parse(std::string_view code);
    uint32_t cells() const { return nodes[root].cells; }
    // Whether cells have this shape.
    bool fits(const Cell *cells) const { return fits(root, cells, 1); }
    // NULL, or why the value cannot be printed.
    const char *print(const Cell *cells, uint32_t length_limit, Array<char> &text) const;

  private:
    uint32_t node(std::string_view code, size_t &at);
    bool fits(uint32_t number, const Cell *cells, uint64_t instances) const;

    Array<ValueNode> nodes;
    uint32_t root = 0;
};

// The fewest digits that identify the number which %.14e gives back.
void print_float(Array<char> &text, Float value);

} // namespace hadal::vcode

#endif
