// SPDX-License-Identifier: Apache-2.0 OR MIT
// The table of operations: names, suffixes, and what carries each of them out.
#ifndef HADAL_VCODE_OPERATIONS_H
#define HADAL_VCODE_OPERATIONS_H

#include "cell.h"

#include <string_view>

namespace hadal::vcode {

struct Machine;
struct Instruction;
struct Elementwise;

// Carries out one instruction on the machine's stack; false: the machine has an error.
using Routine = bool (*)(Machine &machine, const Instruction &instruction);

// What a suffix may be. CHAR and SEGDES occur with I/O and CONST only.
enum class Suffix : uint8_t { None, Int, Bool, Float, Segdes, Char };

// What the parser does with an operation, and the decoder.
enum class Form : uint8_t {
    Plain, // elementwise, vector and I/O operations: a routine
    Copy,
    Pop,
    Cpop,
    Call,
    Exit,
    If,
    Const,
    Else,
    Endif,
    Ret,
    Func,
};

struct Operation {
    const char *name;
    Suffix suffix;
    Form form;
    Routine routine;
    const Elementwise *elementwise; // or NULL
    uint16_t fast;                  // which fast path of the interpreter; 0: none
};

extern const Operation operations[];
extern const uint32_t operation_count;

// The first row with this name, or UINT32_MAX; rows of one name are neighbours and differ in their suffix.
uint32_t operation_find(std::string_view name);
const char *suffix_name(Suffix suffix);

} // namespace hadal::vcode

#endif
