// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sections that are handed out as members ask for them. (Clang makes static loops of sections.)
#include "ident.h"
#include "leave.h"

using namespace hadal::omp;
using namespace hadal::omp::kmpc;

// Returns the number of the construct.
OMP_EXPORT int32_t __kmpc_sections_init(const Ident *, Gtid) {
    Member &me = self();
    leave(me); // a loop that has been cancelled
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_begin(me, ompt::WorkKind::Sections, 0);
    }
    enter_cancellable(me);
    return static_cast<int32_t>(me.workshares - 1);
}

// The number of the section that the caller executes next, of 0 to `count` - 1; `count`: none is left.
OMP_EXPORT int32_t __kmpc_next_section(const Ident *, Gtid, int32_t count) {
    Workshare *workshare = self().workshare;
    if (workshare == nullptr || HRT_LOAD(&workshare->is_cancelled, HRT_RELAXED) != 0) {
        return count;
    }
    // Nobody asks again who was told that there are none, so the number stays small.
    uint64_t number = HRT_FETCH_ADD(&workshare->next, 1, HRT_RELAXED);
    return number < static_cast<uint64_t>(count) ? static_cast<int32_t>(number) : count;
}

OMP_EXPORT void __kmpc_end_sections(const Ident *, Gtid) {
    leave(self());
    if (ompt::is_on()) {
        return ompt::with_caller([=] { ompt::work_close(self()); });
    }
}
