// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The pthread program set: every part, or those named on the command line.

#include "set.h"

static const struct part parts[] = {
    {"create", part_create},
    {"attributes", part_attributes},
    {"mutexes", part_mutexes},
    {"robust", part_robust},
    {"conditions", part_conditions},
    {"rwlocks", part_rwlocks},
    {"barriers", part_barriers},
    {"semaphores", part_semaphores},
    {"cancellation", part_cancellation},
    {"tls", part_tls},
    {"timeouts", part_timeouts},
    {"churn", part_churn},
    {"inherited", part_inherited},
    {"fresh", part_fresh},
};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv); }
