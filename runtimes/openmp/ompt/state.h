// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the run-time keeps for a tool, and where: in each thread, team, and task. Without a tool nobody
// touches it; it is behind what the run-time uses itself.
#ifndef HADAL_OMP_OMPT_STATE_H
#define HADAL_OMP_OMPT_STATE_H

#include "types.h"

namespace hadal::omp {
struct Task;
}

namespace hadal::omp::ompt {

struct ThreadTool {
    Data data{0};
    State state = State::Overhead;
    uint64_t wait_id = 0;
    bool has_begun = false; // thread_begin has been said, thread_end has not
};

struct TeamTool {
    Data parallel{0};
    Data *league = nullptr;     // a league's team: the region that it belongs to
    const void *code = nullptr; // where the construct is
    int flags = 0;
    uint64_t ended = 0; // number of the last region whose members may go
};

// How far a detachable task is.
inline constexpr uint32_t PHASE_RUNNING = 0, PHASE_DETACHED = 1, PHASE_FULFILLED = 2;

struct TaskTool {
    Data data{0};
    Frame frame;
    int kind = 0; // TASK_*
    uint32_t phase = PHASE_RUNNING;
    Task *below = nullptr; // explicit tasks: what its thread has suspended for it
    // An implicit task's worksharing construct that has begun.
    WorkKind work = WorkKind::Loop;
    bool is_working = false;
    bool is_yielding = false; // it is in `taskyield`
    bool is_cancelled = false;
    bool has_entered_for = false; // its generator is in the run-time because of it
    uint64_t work_count = 0;
    const void *waits_at = nullptr; // the end of a taskgroup
};

} // namespace hadal::omp::ompt

#endif
