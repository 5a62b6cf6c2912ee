// SPDX-License-Identifier: Apache-2.0 OR MIT
// Waking members that sleep.
#include "sync.h"

#include "abi.h"

namespace hadal::omp {

void open_door(Thread &thread) {
    if (HRT_LOAD(&thread.door, HRT_RELAXED) == DOOR_CLOSED &&
        HRT_EXCHANGE(&thread.door, DOOR_OPEN, HRT_SEQ_CST) == DOOR_CLOSED) {
        hrt_wake(&thread.door, 1, HRT_WAKE_KICK);
    }
}

void notify_all(const Team &team) {
    for (uint32_t number = 0; number < team.size; number++) {
        notify(team, *team.members[number]);
    }
}

OMP_TASK_PATH(3) void notify_one(const Team &team, const Member &but) {
    if (!has_sleepers(team)) {
        return;
    }
    for (uint32_t step = 1; step < team.size; step++) {
        Member &member = *team.members[(but.number + step) % team.size];
        // Who waits in the middle of a task may not be allowed to run just any other.
        if (HRT_LOAD(&member.in_barrier, HRT_RELAXED) != 0 &&
            HRT_LOAD(&member.thread->door, HRT_RELAXED) == DOOR_CLOSED) {
            open_door(*member.thread);
            return;
        }
    }
}

} // namespace hadal::omp
