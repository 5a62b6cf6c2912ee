// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cross-iteration dependences of loop nests (`ordered(n)`). The nest has a descriptor besides that of its
// outermost loop, which may be dealt out without one.
#include "core/doacross.h"

#include <alloca.h>

#include "core/team.h"
#include "ident.h"
#include "leave.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

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
    for (int32_t index = 0; index < dimension_count; index++) {
        const KmpDimension &dimension = dimensions[index];
        // Compilers number the iterations of each loop from 0; `upper` is how many there are.
        if (dimension.lower != 0 || dimension.step != 1) {
            fatal("ordered(%d): the loops are not normalised", dimension_count);
        }
        counts[index] = dimension.upper > 0 ? static_cast<uint64_t>(dimension.upper) : 0;
    }
    if (workshare_enter(me)) {
        me.workshare->doacross = doacross_new(static_cast<uint32_t>(dimension_count), counts);
        workshare_publish(me);
    }
    me.nest = me.workshare;
    me.workshare = nullptr;
}

// Iterations outside of the nest have negative numbers, or numbers that are too large.
OMP_EXPORT void __kmpc_doacross_wait(const Ident *, Gtid, const int64_t *iteration) {
    Member &me = self();
    if (me.nest != nullptr) {
        doacross_wait(me, *me.nest->doacross, reinterpret_cast<const uint64_t *>(iteration));
    }
}

OMP_EXPORT void __kmpc_doacross_post(const Ident *, Gtid, const int64_t *iteration) {
    Member &me = self();
    if (me.nest != nullptr) {
        doacross_post(me, *me.nest->doacross, reinterpret_cast<const uint64_t *>(iteration));
    }
}

OMP_EXPORT void __kmpc_doacross_fini(const Ident *, Gtid) {
    Member &me = self();
    leave(me);
    me.workshare = me.nest;
    me.nest = nullptr;
    leave(me);
}
