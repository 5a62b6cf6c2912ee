// SPDX-License-Identifier: Apache-2.0 OR MIT
// `sections`: a loop over their numbers from 1 on, which the run-time hands out; 0 says that none is left.
#include "sections.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

struct ParallelSections {
    void *data;
    unsigned count;
};

void run_sections(Member &me, const Region &region) {
    const ParallelSections &parallel = *static_cast<ParallelSections *>(region.data);
    if (ompt::is_on()) {
        ompt::work_begin(me, ompt::WorkKind::Sections, parallel.count);
    }
    loop_enter(me, sections_of(parallel.count));
    call_code(me, region.code, parallel.data);
}

} // namespace

OMP_EXPORT void GOMP_parallel_sections(Function function, void *data, unsigned threads, unsigned count,
                                       unsigned flags) {
    OMPT_ENTRY();
    ParallelSections parallel = {data, count};
    Region region;
    region.run = run_sections;
    region.code = code_of(function);
    region.data = &parallel;
    fork(self(), region, threads_of(threads), bind_of(flags));
}

OMP_EXPORT unsigned GOMP_sections_start(unsigned count) {
    Member &me = self();
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_begin(me, ompt::WorkKind::Sections, count);
    }
    loop_enter(me, sections_of(count));
    return next_section(me);
}

OMP_EXPORT unsigned GOMP_sections_next() { return next_section(self()); }

OMP_EXPORT void GOMP_sections_end_nowait() {
    workshare_leave(self());
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::work_close(self());
    }
}

OMP_EXPORT void GOMP_sections_end() {
    Member &me = self();
    workshare_leave(me);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::Sync sync(me, ompt::SyncKind::BarrierWorkshare);
        barrier(me);
        return;
    }
    barrier(me);
}

// In regions with a `cancel parallel`; true if the region is cancelled.
OMP_EXPORT bool GOMP_sections_end_cancel() {
    Member &me = self();
    workshare_leave(me);
    if (ompt::is_on()) {
        OMPT_NOTE_CALLER();
        ompt::Sync sync(me, ompt::SyncKind::BarrierWorkshare);
        return barrier_cancellable(me);
    }
    return barrier_cancellable(me);
}
