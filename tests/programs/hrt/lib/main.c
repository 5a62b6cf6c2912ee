// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "parts.h"

static const struct part PARTS[] = {
    {"threads", threads},
    {"joins", joins},
    {"places", places},
    {"keys", keys},
    {"locals", locals},
    {"schedules", schedules},
    {"equal-turns", equal_turns},
    {"groups", groups},
    {"forks", forks},
    {"fibers", fibers},
    {"fiber-misuse", fiber_misuse},
    {"fiber-forks", fiber_forks},
    {"tasks", tasks},
    {"many-submitters", many_submitters},
    {"task-misuse", task_misuse},
    {"waiting", waiting},
    {"memory", memory},
    {"topology", topology},
    {"modules", modules},
};

int main(int argc, char **argv) { return run_parts(PARTS, sizeof PARTS / sizeof *PARTS, argc, argv); }
