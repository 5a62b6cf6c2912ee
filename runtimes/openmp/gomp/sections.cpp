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
    loop_enter(me, sections_of(parallel.count));
    call(region.code, parallel.data);
}

} // namespace

OMP_EXPORT void GOMP_parallel_sections(Function function, void *data, unsigned threads, unsigned count,
                                       unsigned flags) {
    ParallelSections parallel = {data, count};
    Region region;
    region.run = run_sections;
    region.code = code_of(function);
    region.data = &parallel;
    fork(self(), region, threads_of(threads), bind_of(flags));
}

OMP_EXPORT unsigned GOMP_sections_start(unsigned count) {
    Member &me = self();
    loop_enter(me, sections_of(count));
    return next_section(me);
}

OMP_EXPORT unsigned GOMP_sections_next() { return next_section(self()); }

OMP_EXPORT void GOMP_sections_end_nowait() { workshare_leave(self()); }

OMP_EXPORT void GOMP_sections_end() {
    Member &me = self();
    workshare_leave(me);
    barrier(me);
}

// In regions with a `cancel parallel`; true if the region is cancelled.
OMP_EXPORT bool GOMP_sections_end_cancel() {
    Member &me = self();
    workshare_leave(me);
    return barrier_cancellable(me);
}
