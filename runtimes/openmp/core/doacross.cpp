// SPDX-License-Identifier: Apache-2.0 OR MIT
// Flags of iterations, a bit each.
#include "doacross.h"

#include <cstdlib>

#include "ompt/ompt.h"
#include "sync.h"

namespace hadal::omp {

struct Doacross {
    uint32_t dimensions;
    uint64_t *counts;
    uint64_t *flags;
};

namespace {

// The number of an iteration among all, or false if it is outside of the nest.
bool flatten(const Doacross &doacross, const uint64_t *iteration, uint64_t *flat) {
    *flat = 0;
    for (uint32_t dimension = 0; dimension < doacross.dimensions; dimension++) {
        if (iteration[dimension] >= doacross.counts[dimension]) {
            return false;
        }
        *flat = *flat * doacross.counts[dimension] + iteration[dimension];
    }
    return true;
}

} // namespace

Doacross *doacross_new(uint32_t dimensions, const uint64_t *counts) {
    uint64_t iterations = 1;
    for (uint32_t dimension = 0; dimension < dimensions; dimension++) {
        if (__builtin_mul_overflow(iterations, counts[dimension], &iterations)) {
            fatal("a loop nest with ordered dependences has more than 2^64 iterations");
        }
    }
    Doacross *doacross = static_cast<Doacross *>(malloc(sizeof(Doacross)));
    uint64_t *own_counts = static_cast<uint64_t *>(malloc(dimensions * sizeof(uint64_t)));
    uint64_t *flags = static_cast<uint64_t *>(calloc(iterations / 64 + 1, sizeof(uint64_t)));
    if (doacross == nullptr || own_counts == nullptr || flags == nullptr) {
        fatal("there is no memory for the flags of %llu iterations with ordered dependences",
              static_cast<unsigned long long>(iterations));
    }
    for (uint32_t dimension = 0; dimension < dimensions; dimension++) {
        own_counts[dimension] = counts[dimension];
    }
    *doacross = {dimensions, own_counts, flags};
    return doacross;
}

void doacross_free(Doacross *doacross) {
    free(doacross->counts);
    free(doacross->flags);
    free(doacross);
}

uint32_t doacross_dimensions(const Doacross &doacross) { return doacross.dimensions; }

void doacross_post(Member &me, Doacross &doacross, const uint64_t *iteration) {
    uint64_t flat;
    if (flatten(doacross, iteration, &flat)) {
        if (ompt::is_on()) {
            ompt::doacross(me, iteration, doacross.dimensions, false);
        }
        __atomic_fetch_or(&doacross.flags[flat / 64], 1ull << flat % 64, __ATOMIC_SEQ_CST);
        if (has_sleepers(*me.team)) {
            notify_all(*me.team);
        }
    }
}

void doacross_wait(Member &me, Doacross &doacross, const uint64_t *iteration) {
    uint64_t flat;
    if (flatten(doacross, iteration, &flat)) {
        const uint64_t *flags = &doacross.flags[flat / 64];
        uint64_t flag = 1ull << flat % 64;
        await(me, [&] { return (HRT_LOAD(flags, HRT_ACQUIRE) & flag) != 0; });
        if (ompt::is_on()) {
            ompt::doacross(me, iteration, doacross.dimensions, true);
        }
    }
}

} // namespace hadal::omp
