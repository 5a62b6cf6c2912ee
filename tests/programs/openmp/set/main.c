// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The OpenMP program set: every part, or those named on the command line.

#include "set.h"

static const struct part parts[] = {
    {"loops", part_loops},       {"reductions", part_reductions},
    {"tasks", part_tasks},       {"depend", part_depend},
    {"sections", part_sections}, {"critical", part_critical},
    {"atomic", part_atomic},     {"locks", part_locks},
    {"nested", part_nested},     {"threadprivate", part_threadprivate},
    {"settings", part_settings}, {"cancel", part_cancel},
    {"kernels", part_kernels},
};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv); }
