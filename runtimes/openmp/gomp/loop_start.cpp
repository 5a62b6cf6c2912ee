// SPDX-License-Identifier: Apache-2.0 OR MIT
// The beginnings of loops whose chunks the run-time hands out.
#include "loop.h"

using namespace hadal::omp;
using namespace hadal::omp::gomp;

// For a schedule with chunks, and for one whose chunks the schedule ICV says.
#define START(name, kind, kind_of_loop)                                                                      \
    OMP_EXPORT bool GOMP_loop_##name##_start(long first, long end, long step, long chunk, long *chunk_begin, \
                                             long *chunk_end) {                                              \
        OMPT_ENTRY();                                                                                        \
        return start(kind_of_loop(scheduled(loop_of(first, end, step), kind, chunk)), word(chunk_begin),     \
                     word(chunk_end));                                                                       \
    }                                                                                                        \
    OMP_EXPORT bool GOMP_loop_ull_##name##_start(bool is_up, ull first, ull end, ull step, ull chunk,        \
                                                 ull *chunk_begin, ull *chunk_end) {                         \
        OMPT_ENTRY();                                                                                        \
        return start(kind_of_loop(scheduled_ull(loop_of(is_up, first, end, step), kind, chunk)),             \
                     word(chunk_begin), word(chunk_end));                                                    \
    }
#define START_RUNTIME(name, kind_of_loop)                                                                    \
    OMP_EXPORT bool GOMP_loop_##name##_start(long first, long end, long step, long *chunk_begin,             \
                                             long *chunk_end) {                                              \
        OMPT_ENTRY();                                                                                        \
        return start(kind_of_loop(scheduled(loop_of(first, end, step), ScheduleKind::Runtime, 0)),           \
                     word(chunk_begin), word(chunk_end));                                                    \
    }                                                                                                        \
    OMP_EXPORT bool GOMP_loop_ull_##name##_start(bool is_up, ull first, ull end, ull step, ull *chunk_begin, \
                                                 ull *chunk_end) {                                           \
        OMPT_ENTRY();                                                                                        \
        return start(kind_of_loop(scheduled(loop_of(is_up, first, end, step), ScheduleKind::Runtime, 0)),    \
                     word(chunk_begin), word(chunk_end));                                                    \
    }
#define PLAIN(loop) loop

START(static, ScheduleKind::Static, PLAIN)
START(dynamic, ScheduleKind::Dynamic, PLAIN)
START(guided, ScheduleKind::Guided, PLAIN)
START(nonmonotonic_dynamic, ScheduleKind::Dynamic, nonmonotonic)
START(nonmonotonic_guided, ScheduleKind::Guided, PLAIN)
START_RUNTIME(runtime, PLAIN)
START_RUNTIME(nonmonotonic_runtime, nonmonotonic)
START_RUNTIME(maybe_nonmonotonic_runtime, nonmonotonic)

START(ordered_static, ScheduleKind::Static, ordered)
START(ordered_dynamic, ScheduleKind::Dynamic, ordered)
START(ordered_guided, ScheduleKind::Guided, ordered)
START_RUNTIME(ordered_runtime, ordered)
