// SPDX-License-Identifier: Apache-2.0 OR MIT
// `copyprivate`: what the member that has executed a `single` region has, the others get.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

// Called by all behind the region. `has_executed`: the caller's data is what the others copy.
OMP_EXPORT void __kmpc_copyprivate(const Ident *, Gtid, size_t, void *data,
                                   void (*copy)(void *into, void *from), int32_t has_executed) {
    Member &me = self();
    if (me.size == 1) {
        return;
    }
    Team &team = *me.team;
    if (has_executed != 0) {
        team.copy = data;
    }
    barrier(me);
    if (has_executed == 0) {
        copy(data, team.copy);
    }
    // The data is on the stack of its owner, who must not leave before all have copied it.
    barrier(me);
}

// The same for code that copies by itself: only the member that has executed the region passes an address,
// and all get it. A call of a barrier follows the copying.
OMP_EXPORT void *__kmpc_copyprivate_light(const Ident *, Gtid, void *data) {
    Member &me = self();
    Team &team = *me.team;
    if (data != nullptr) {
        team.copy = data;
    }
    if (me.size > 1) {
        barrier(me);
    }
    return team.copy;
}
