// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cross-iteration dependences of loop nests (`ordered(n)`). The nest has a descriptor besides that of its
// outermost loop, which may be dealt out without one.
#include "core/doacross.h"

#include <alloca.h>
#include <cstdlib>
#include <cstring>

#include "core/team.h"
#include "ident.h"
#include "leave.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

// Compilers number the iterations of each loop from 0 on, and `upper` is how many there are. Programs that
// call these functions by themselves may have other loops, from `lower` to `upper` by `step`.
bool is_plain(const KmpDimension &dimension) { return dimension.lower == 0 && dimension.step == 1; }

uint64_t number_in(const KmpDimension &dimension, int64_t value) {
    if (is_plain(dimension)) {
        return static_cast<uint64_t>(value);
    }
    bool is_up = dimension.step > 0;
    if (is_up ? value < dimension.lower : value > dimension.lower) {
        return UINT64_MAX; // outside of the nest
    }
    uint64_t value_bits = static_cast<uint64_t>(value), lower = static_cast<uint64_t>(dimension.lower),
             step = static_cast<uint64_t>(dimension.step);
    return is_up ? (value_bits - lower) / step : (lower - value_bits) / (0 - step);
}

uint64_t count_of(const KmpDimension &dimension) {
    if (is_plain(dimension)) {
        return dimension.upper > 0 ? static_cast<uint64_t>(dimension.upper) : 0;
    }
    uint64_t last = number_in(dimension, dimension.upper);
    return last == UINT64_MAX ? 0 : last + 1;
}

// The numbers of an iteration, for functions of the core.
template <typename Use> void with_numbers(const Workshare &nest, const int64_t *iteration, Use use) {
    const KmpDimension *dimensions = static_cast<const KmpDimension *>(nest.shared);
    if (HRT_LIKELY(dimensions == nullptr)) {
        use(reinterpret_cast<const uint64_t *>(iteration));
        return;
    }
    uint32_t count = doacross_dimensions(*nest.doacross);
    uint64_t *numbers = static_cast<uint64_t *>(alloca(count * sizeof(uint64_t)));
    for (uint32_t index = 0; index < count; index++) {
        numbers[index] = number_in(dimensions[index], iteration[index]);
    }
    use(numbers);
}

// Keeps the dimensions for `with_numbers`.
void keep(Workshare &nest, const KmpDimension *dimensions, size_t count) {
    nest.shared = malloc(count * sizeof(KmpDimension));
    if (nest.shared == nullptr) {
        fatal("there is no memory for a nest of %zu loops", count);
    }
    memcpy(nest.shared, dimensions, count * sizeof(KmpDimension));
}

} // namespace

OMP_EXPORT void __kmpc_doacross_init(const Ident *, Gtid, int32_t dimension_count,
                                     const KmpDimension *dimensions) {
    Member &me = self();
    leave(me); // a loop that has been cancelled
    me.nest = nullptr;
    if (me.size == 1) {
        return; // iterations run in their order
    }
    uint64_t *counts =
        static_cast<uint64_t *>(alloca(static_cast<size_t>(dimension_count) * sizeof(uint64_t)));
    bool are_plain = true;
    for (int32_t index = 0; index < dimension_count; index++) {
        if (dimensions[index].step == 0) {
            fatal("ordered(%d): a loop has step 0", dimension_count);
        }
        are_plain = are_plain && is_plain(dimensions[index]);
        counts[index] = count_of(dimensions[index]);
    }
    if (workshare_enter(me)) {
        me.workshare->doacross = doacross_new(static_cast<uint32_t>(dimension_count), counts);
        if (!are_plain) {
            keep(*me.workshare, dimensions, static_cast<size_t>(dimension_count));
        }
        workshare_publish(me);
    }
    me.nest = me.workshare;
    me.workshare = nullptr;
}

// Iterations outside of the nest have negative numbers, or numbers that are too large.
OMP_EXPORT void __kmpc_doacross_wait(const Ident *, Gtid, const int64_t *iteration) {
    Member &me = self();
    if (me.nest != nullptr) {
        with_numbers(*me.nest, iteration,
                     [&](const uint64_t *numbers) { doacross_wait(me, *me.nest->doacross, numbers); });
    }
}

OMP_EXPORT void __kmpc_doacross_post(const Ident *, Gtid, const int64_t *iteration) {
    Member &me = self();
    if (me.nest != nullptr) {
        with_numbers(*me.nest, iteration,
                     [&](const uint64_t *numbers) { doacross_post(me, *me.nest->doacross, numbers); });
    }
}

OMP_EXPORT void __kmpc_doacross_fini(const Ident *, Gtid) {
    Member &me = self();
    leave(me);
    me.workshare = me.nest;
    me.nest = nullptr;
    leave(me);
}
