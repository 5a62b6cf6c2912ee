// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// System information, clocks, pipes: every part, or those named on the command line.

#include "set.h"

/* The one about ids gives its rights up: it comes last. */
static const struct part parts[] = {
    {"auxv", part_auxv},
    {"vdso", part_vdso},
    {"clocks", part_clocks},
    {"proc", part_proc},
    {"sys", part_sys},
    {"random", part_random},
    {"limits", part_limits},
    {"pipes", part_pipes},
    {"threads", part_threads},
    {"nice", part_nice},
    {"file-size", part_file_size},
    {"cpu-limit", part_cpu_limit},
    {"ids", part_ids},
};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv); }
