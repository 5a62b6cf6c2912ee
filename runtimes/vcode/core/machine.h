// SPDX-License-Identifier: Apache-2.0 OR MIT
// The state of a running program: stacks, position, errors, files, random numbers.
#ifndef HADAL_VCODE_MACHINE_H
#define HADAL_VCODE_MACHINE_H

#include "../load/program.h"
#include "memory.h"
#include "operations.h"

#include <cstdio>

namespace hadal::vcode {

// A run of COPY, POP and CPOP as one step. It works on the `depth` topmost cells: the deepest `kept` of them
// stay where they are, the others are replaced by `results` cells, each of which is one of the `depth` ones.
struct Shuffle {
    uint32_t depth, kept, results;
    uint32_t places;     // in Code::places: for each result which cell it is, counted from the deepest
    uint32_t changes;    // in Code::changes: for each of the `depth` cells how its references change
    bool counts;         // whether any of them does
    uint32_t statements; // how many it stands for
};
inline constexpr uint32_t SHUFFLE_MAX = 64; // cells before and after

struct Instruction {
    const void *go; // where the interpreter carries it out
    Routine routine;
    union {
        const Cell *constant;
        const Instruction *target;
        const Elementwise *elementwise;
        const Shuffle *shuffle;
        uint64_t form; // number of the form whose function has just returned
        struct {
            Int count, position;
        };
    };
};

// Where an instruction comes from.
struct Origin {
    uint32_t statement, function;
    uint32_t fast;
};

struct Code {
    Array<Instruction> instructions;
    Array<Origin> origins;
    Array<Shuffle> shuffles;
    Array<uint32_t> places;
    Array<Int> changes;
    Array<uint32_t> starts; // of functions
};

struct File {
    FILE *stream;
    bool open;
};

// The additive feedback generator of degree 31.
struct Random {
    uint32_t state[31];
    uint32_t at;
    void seed(uint32_t value);
    uint32_t next() {
        uint32_t value = state[at] += state[at < 3 ? at + 28 : at - 3];
        at = at == 30 ? 0 : at + 1;
        return value >> 1;
    }
};

struct Counts;

struct Machine {
    Cell *top = nullptr; // behind the topmost cell
    Cell *base = nullptr, *limit = nullptr;
    const Instruction **return_top = nullptr, **returns = nullptr, **return_limit = nullptr;
    const Program *program = nullptr;
    const Code *code = nullptr;
    const Instruction *at = nullptr; // the instruction that is carried out
    bool exited = false;             // by EXIT
    Array<File> files;
    Random random;
    uint64_t timer_start = 0;
    Counts *counts = nullptr;
    uint64_t work_left = UINT64_MAX; // where the program was decoded to be observed
    FILE *trace = nullptr;
    uint32_t print_length = 100;
    void *cell_memory = nullptr;

    bool start(); // false: no memory
    void stop();
    // Ends the run with a message that says where.
    bool error(const char *format, ...) __attribute__((format(printf, 2, 3)));
    bool out_of_memory();

    size_t depth() const { return static_cast<size_t>(top - base); }
    // Room for so many more cells.
    bool room(size_t cells) {
        return HRT_LIKELY(static_cast<size_t>(limit - top) >= cells) || grow_stack(cells);
    }
    bool push(const Cell &cell) {
        if (HRT_UNLIKELY(!room(1))) {
            release(cell);
            return false;
        }
        *top++ = cell;
        return true;
    }
    // Frees the topmost cells.
    void drop(size_t cells) {
        for (; cells > 0; cells--) {
            release(*--top);
        }
    }
    bool grow_stack(size_t cells);
    bool grow_returns();
};

// Decodes a program; false: out of memory. `plain`: one instruction for each statement, for traces and
// counts.
bool decode(const Program &program, Code &code, bool plain);

// Runs from the entry until it returns, or EXIT; false after an error.
bool interpret(Machine &machine, const Instruction *entry);
// Where the interpreter carries out instructions with this number of a fast path.
const void *interpreter_place(uint32_t fast);

} // namespace hadal::vcode

#endif
