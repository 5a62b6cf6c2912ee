// SPDX-License-Identifier: Apache-2.0 OR MIT
// `ordered depend(source)` and `ordered depend(sink: ...)` in loop nests that loop_general.cpp has begun.
#include "core/doacross.h"

#include <cstdarg>

#include "gomp.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

constexpr uint32_t DIMENSIONS_MAX = 64;

// A team of one runs all iterations in their order.
Doacross *nest_of(Member &me) {
    return me.size > 1 && me.workshare != nullptr ? me.workshare->doacross : nullptr;
}

void post(const uint64_t *iteration) {
    Member &me = self();
    if (Doacross *nest = nest_of(me)) {
        doacross_post(me, *nest, iteration);
    }
}

// The iteration numbers are the arguments, as many as the nest has dimensions; both types are passed alike.
void wait(uint64_t first, va_list others) {
    Member &me = self();
    Doacross *nest = nest_of(me);
    if (nest == nullptr) {
        return;
    }
    uint32_t dimensions = doacross_dimensions(*nest);
    if (dimensions > DIMENSIONS_MAX) {
        fatal("a loop nest with ordered dependences has %u dimensions: more than %u are not supported",
              dimensions, DIMENSIONS_MAX);
    }
    uint64_t iteration[DIMENSIONS_MAX];
    iteration[0] = first;
    for (uint32_t dimension = 1; dimension < dimensions; dimension++) {
        iteration[dimension] = va_arg(others, uint64_t);
    }
    doacross_wait(me, *nest, iteration);
}

} // namespace

OMP_EXPORT void GOMP_doacross_post(long *iteration) { post(reinterpret_cast<uint64_t *>(iteration)); }
OMP_EXPORT void GOMP_doacross_ull_post(ull *iteration) { post(reinterpret_cast<uint64_t *>(iteration)); }

OMP_EXPORT void GOMP_doacross_wait(long first, ...) {
    va_list others;
    va_start(others, first);
    wait(static_cast<uint64_t>(first), others);
    va_end(others);
}

OMP_EXPORT void GOMP_doacross_ull_wait(ull first, ...) {
    va_list others;
    va_start(others, first);
    wait(first, others);
    va_end(others);
}
