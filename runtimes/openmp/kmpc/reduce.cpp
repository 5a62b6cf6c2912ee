// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions of parallel and worksharing constructs. The run-time says how each member adds its copies to the
// program's variables, and the compiler's code does it.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

// What the caller does.
enum Method : int32_t { ALONE = 1, BY_ATOMICS = 2 };

// Compilers do not say the end of a reduction by atomics everywhere, so a tool would not learn it.
bool needs_lock(const Member &me, const Ident *loc) {
    return me.size > 1 && ((loc->flags & IDENT_ATOMIC_REDUCTION) == 0 || ompt::is_on());
}

int32_t begin(const Ident *loc, CriticalName *name) {
    Member &me = self();
    if (ompt::is_on()) {
        ompt::reduction(me, true);
    }
    if (me.size == 1) {
        return ALONE;
    }
    if (!needs_lock(me, loc)) {
        return BY_ATOMICS;
    }
    lock(name->lock);
    return ALONE;
}

void end(const Ident *loc, CriticalName *name) {
    if (needs_lock(self(), loc)) {
        unlock(name->lock);
    }
    if (ompt::is_on()) {
        ompt::reduction(self(), false);
    }
}

} // namespace

OMP_EXPORT int32_t __kmpc_reduce_nowait(const Ident *loc, Gtid, int32_t, size_t, void *,
                                        void (*)(void *, void *), CriticalName *name) {
    OMPT_ENTRY();
    return begin(loc, name);
}

OMP_EXPORT void __kmpc_end_reduce_nowait(const Ident *loc, Gtid, CriticalName *name) {
    OMPT_ENTRY();
    end(loc, name);
}

// The barrier behind the construct, which makes the result known to all, is a call of its own.
OMP_EXPORT int32_t __kmpc_reduce(const Ident *loc, Gtid, int32_t, size_t, void *, void (*)(void *, void *),
                                 CriticalName *name) {
    OMPT_ENTRY();
    return begin(loc, name);
}

// Also behind reductions by atomics.
OMP_EXPORT void __kmpc_end_reduce(const Ident *loc, Gtid, CriticalName *name) {
    OMPT_ENTRY();
    end(loc, name);
}
