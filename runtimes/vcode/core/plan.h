// SPDX-License-Identifier: Apache-2.0 OR MIT
// How a group of pending vectors is computed, strip by strip.
#ifndef HADAL_VCODE_PLAN_H
#define HADAL_VCODE_PLAN_H

#include "lazy.h"

namespace hadal::vcode {

// Where the elements of a strip come from.
enum class Source : uint8_t { Operation, Constant, Index, Ranges };

// What a block without data stands for.
struct Pending {
    Source source;
    uint8_t arity;
    uint16_t nodes; // how many hang together, at most
    uint16_t size_class;
    const Elementwise *operation;
    union {
        Cell operands[3]; // of an operation; starts, steps and descriptor of ranges
        uint64_t word;    // of a constant
        struct {
            Int start, step;
        };
    };
};

// A cell whose block has no data but a note, which the caller completes; NULL: out of memory.
Pending *new_pending(Type type, uint32_t length, Cell &result);

class Plan {
  public:
    static constexpr uint32_t STRIP = 256; // elements at a time: memory streams on while a strip is computed

    // Takes in the vector and all pending ones that it needs. `stored`: the vector itself is to have its
    // data; otherwise it is only read through run(). False: out of memory, nothing has changed.
    bool make(Cell &root, bool stored);
    // Computes elements from `from` to `to`, by this member of the gang. If the root is not stored, these are
    // up to BLOCK elements, and the result is where the root's are.
    const void *run(uint32_t member, uint64_t from, uint64_t to) const;
    // All has been computed: gives the vectors their data.
    void finish();

  private:
    struct Operand {
        const void *data; // memory, or NULL:
        uint8_t slot;     // of a strip
        uint8_t bytes;    // of an element
    };
    struct Step {
        Kernel kernel;
        Source source;
        Type type;
        uint8_t slot;
        uint8_t arity;
        bool is_fused; // the step that needs its result computes it, too
        Operand operands[3];
        void *output; // memory, or NULL
        const Pending *pending;
        Cell cell;
        uint32_t uses; // by the others here
        uint16_t last_use;
        uint16_t data_class;
    };

    uint32_t visit(const Cell &cell);
    uint32_t find(const Block *block) const;
    bool make_outputs(bool stored);
    void reuse_operand();
    void fuse();
    void place_strips();

    Step steps[LAZY_NODES + 1];
    uint32_t count = 0;
    bool root_stored = true;
    bool past_caches = false; // the root's data is written so
    Cell reused{};            // the operand whose memory the root takes over
};

// Memory for the strips of all who share so many items (pieces of work times their size); false: there is
// none.
bool strips_ready(uint64_t length);

} // namespace hadal::vcode

#endif
