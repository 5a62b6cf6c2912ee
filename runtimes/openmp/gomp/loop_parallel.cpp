// SPDX-License-Identifier: Apache-2.0 OR MIT
// `parallel for` in one call: each member begins the loop before it calls the function, which asks for its
// first chunk then.
#include "loop.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

struct ParallelLoop {
    void *data;
    Loop loop;
};

void run_loop(Member &me, const Region &region) {
    const ParallelLoop &parallel = *static_cast<ParallelLoop *>(region.data);
    if (ompt::is_on()) {
        ompt::work_begin(me, ompt::WorkKind::Loop, parallel.loop.trips);
    }
    loop_enter(me, for_team(me, parallel.loop));
    call_code(me, region.code, parallel.data);
}

void parallel_loop(Function function, void *data, unsigned threads, const Loop &loop, unsigned flags) {
    ParallelLoop parallel = {data, loop};
    Region region;
    region.run = run_loop;
    region.code = code_of(function);
    region.data = &parallel;
    fork(self(), region, threads_of(threads), bind_of(flags));
}

} // namespace

#define PARALLEL_LOOP(name, kind, kind_of_loop)                                                              \
    OMP_EXPORT void GOMP_parallel_loop_##name(Function function, void *data, unsigned threads, long first,   \
                                              long end, long step, long chunk, unsigned flags) {             \
        OMPT_ENTRY();                                                                                        \
        parallel_loop(function, data, threads,                                                               \
                      kind_of_loop(scheduled(loop_of(first, end, step), kind, chunk)), flags);               \
    }
#define PARALLEL_LOOP_RUNTIME(name, kind_of_loop)                                                            \
    OMP_EXPORT void GOMP_parallel_loop_##name(Function function, void *data, unsigned threads, long first,   \
                                              long end, long step, unsigned flags) {                         \
        OMPT_ENTRY();                                                                                        \
        parallel_loop(function, data, threads,                                                               \
                      kind_of_loop(scheduled(loop_of(first, end, step), ScheduleKind::Runtime, 0)), flags);  \
    }
#define PLAIN(loop) loop

PARALLEL_LOOP(static, ScheduleKind::Static, PLAIN)
PARALLEL_LOOP(dynamic, ScheduleKind::Dynamic, PLAIN)
PARALLEL_LOOP(guided, ScheduleKind::Guided, PLAIN)
PARALLEL_LOOP(nonmonotonic_dynamic, ScheduleKind::Dynamic, nonmonotonic)
PARALLEL_LOOP(nonmonotonic_guided, ScheduleKind::Guided, PLAIN)
PARALLEL_LOOP_RUNTIME(runtime, PLAIN)
PARALLEL_LOOP_RUNTIME(nonmonotonic_runtime, nonmonotonic)
PARALLEL_LOOP_RUNTIME(maybe_nonmonotonic_runtime, nonmonotonic)
