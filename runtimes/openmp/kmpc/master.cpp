// SPDX-License-Identifier: Apache-2.0 OR MIT
// `master` and `masked`.
#include "core/team.h"
#include "ident.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

namespace {

[[gnu::noinline]] int32_t begin_with_tool(Member &me, uint32_t filter) {
    if (me.number != filter) {
        return 0;
    }
    ompt::masked(me, true);
    return 1;
}

} // namespace

OMP_EXPORT int32_t __kmpc_master(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return begin_with_tool(self(), 0); });
    }
    return self().number == 0;
}

OMP_EXPORT void __kmpc_end_master(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::masked(self(), false); });
    }
}

OMP_EXPORT int32_t __kmpc_masked(const Ident *, Gtid, int32_t filter) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { return begin_with_tool(self(), static_cast<uint32_t>(filter)); });
    }
    return self().number == static_cast<uint32_t>(filter);
}

OMP_EXPORT void __kmpc_end_masked(const Ident *, Gtid) {
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::masked(self(), false); });
    }
}
