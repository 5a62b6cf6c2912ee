// SPDX-License-Identifier: Apache-2.0 OR MIT
// The synchronisation objects of hadal/hrt.h, function by function, misuse included.
#include "parts.h"

static const struct part PARTS[] = {
    {"spin-locks", spin_locks},
    {"mutexes", mutexes},
    {"mutex-kinds", mutex_kinds},
    {"mutex-time-outs", mutex_time_outs},
    {"rwlocks", rwlocks},
    {"rwlock-time-outs", rwlock_time_outs},
    {"wait-queues", wait_queues},
    {"conditions", conditions},
    {"condition-time-outs", condition_time_outs},
    {"semaphores", semaphores},
    {"semaphore-time-outs", semaphore_time_outs},
    {"barriers", barriers},
    {"wide-barriers", wide_barriers},
    {"onces", onces},
    {"misuse", misuse},
    {"destroyed", destroyed},
    {"busy", busy},
};

int main(int argc, char **argv) { return run_parts(PARTS, sizeof PARTS / sizeof *PARTS, argc, argv); }
