// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the compiler cannot do with one instruction: atomic updates of large types, and reductions of several
// variables. One lock for the program, which no other OpenMP call is made with.
#include "core/lock.h"
#include "gomp.h"

using namespace hadal::omp;

namespace {

struct alignas(64) {
    Lock lock;
} atomics;

} // namespace

OMP_EXPORT void GOMP_atomic_start() { lock(atomics.lock); }
OMP_EXPORT void GOMP_atomic_end() { unlock(atomics.lock); }
