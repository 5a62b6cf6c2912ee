// SPDX-License-Identifier: Apache-2.0 OR MIT
// Parallel regions of compilers before gcc 4.9: one call begins the region, then the caller runs the primary
// member's part by calling the function itself, and another call ends it.
#include <cstdlib>
#include <new>

#include "core/depend.h"
#include "loop.h"
#include "sections.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

namespace {

// What the members need lives until the region ends; it is what its data points to.
struct Started {
    void *data;
    Loop loop;
    bool has_loop;
};

void run_started(Member &me, const Region &region) {
    const Started &started = *static_cast<Started *>(region.data);
    if (started.has_loop) {
        if (ompt::is_on()) {
            ompt::work_begin(me, ompt::WorkKind::Loop, started.loop.trips);
        }
        loop_enter(me, started.loop);
    }
    call_code(me, region.code, started.data);
}

void begin(Function function, void *data, unsigned threads, const Loop *loop) {
    void *memory = malloc(sizeof(Started));
    if (memory == nullptr) {
        fatal("there is no memory for a parallel region");
    }
    Started &started = *::new (memory) Started{data, {}, loop != nullptr};
    if (loop != nullptr) {
        started.loop = *loop;
    }
    Region region;
    region.run = run_started;
    region.code = code_of(function);
    region.data = &started;
    Member &primary = fork_begin(self(), region, threads_of(threads), Bind::False);
    if (loop != nullptr) {
        if (ompt::is_on()) {
            ompt::work_begin(primary, ompt::WorkKind::Loop, loop->trips);
        }
        loop_enter(primary, *loop);
    }
    if (primary.size == 1) {
        free(&started); // nobody else runs it
    }
}

} // namespace

OMP_EXPORT void GOMP_parallel_start(Function function, void *data, unsigned threads) {
    OMPT_ENTRY();
    begin(function, data, threads, nullptr);
}

OMP_EXPORT void GOMP_parallel_end() {
    Member &primary = self();
    if (primary.implicit.dependences != nullptr) {
        dependences_free(primary.implicit);
    }
    void *started = primary.size > 1 ? primary.start.region.data : nullptr;
    fork_end(primary);
    free(started);
}

OMP_EXPORT void GOMP_parallel_sections_start(Function function, void *data, unsigned threads,
                                             unsigned count) {
    OMPT_ENTRY();
    const Loop loop = sections_of(count);
    begin(function, data, threads, &loop);
}

#define PARALLEL_LOOP_START(name, kind)                                                                      \
    OMP_EXPORT void GOMP_parallel_loop_##name##_start(Function function, void *data, unsigned threads,       \
                                                      long first, long end, long step, long chunk) {         \
        OMPT_ENTRY();                                                                                        \
        const Loop loop = scheduled(loop_of(first, end, step), kind, chunk);                                 \
        begin(function, data, threads, &loop);                                                               \
    }

PARALLEL_LOOP_START(static, ScheduleKind::Static)
PARALLEL_LOOP_START(dynamic, ScheduleKind::Dynamic)
PARALLEL_LOOP_START(guided, ScheduleKind::Guided)

OMP_EXPORT void GOMP_parallel_loop_runtime_start(Function function, void *data, unsigned threads, long first,
                                                 long end, long step) {
    OMPT_ENTRY();
    const Loop loop = scheduled(loop_of(first, end, step), ScheduleKind::Runtime, 0);
    begin(function, data, threads, &loop);
}
