// SPDX-License-Identifier: Apache-2.0 OR MIT
// What all entry points of the gcc front end share: the types of their arguments.
#ifndef HADAL_OMP_GOMP_H
#define HADAL_OMP_GOMP_H

#include <cstddef>
#include <cstdint>

#include "core/abi.h"
#include "core/team.h"
#include "ompt/ompt.h"

namespace hadal::omp::gomp {

// What the compiler makes of a construct's code: it gets a block with the addresses or values of variables.
using Function = void (*)(void *data);
// Copies a task's data block, for variables that are not just bytes.
using CopyFunction = void (*)(void *to, void *from);

using ull = unsigned long long;
static_assert(sizeof(long) == sizeof(uint64_t) && sizeof(ull) == sizeof(uint64_t));

inline void *code_of(Function function) { return reinterpret_cast<void *>(function); }
inline void call(void *code, void *data) { reinterpret_cast<Function>(code)(data); }

// The number of threads that a clause asks for: gcc passes what the program has computed, as unsigned.
inline uint32_t threads_of(unsigned requested) { return static_cast<int>(requested) < 0 ? 1 : requested; }

// Bits 0 to 2 of the flags of a region.
inline Bind bind_of(unsigned flags) {
    unsigned bind = flags & 7;
    return bind <= static_cast<unsigned>(Bind::Spread) ? static_cast<Bind>(bind) : Bind::False;
}

// The code of a region.
inline void call_code(Member &me, void *code, void *data) {
    if (ompt::is_on()) {
        ompt::call_framed(me.implicit, reinterpret_cast<Function>(code), data);
        return;
    }
    call(code, data);
}

// A parallel region in which all members call a function.
inline void run_region(Member &me, const Region &region) { call_code(me, region.code, region.data); }

} // namespace hadal::omp::gomp

#endif
