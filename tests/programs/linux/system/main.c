// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// System information, clocks, pipes: every part, or those named on the command line.

#include "set.h"

/* The one about ids gives its rights up: it comes last. Linux counts whole ticks of its timer against the
 * limit of CPU time, and on a busy host too many of a process with a low priority: that part comes before the
 * one that is nice. */
static const struct part parts[] = {
    {"auxv", part_auxv},       {"vdso", part_vdso},
    {"clocks", part_clocks},   {"proc", part_proc},
    {"sys", part_sys},         {"random", part_random},
    {"limits", part_limits},   {"pipes", part_pipes},
    {"threads", part_threads}, {"cpu-limit", part_cpu_limit},
    {"nice", part_nice},       {"file-size", part_file_size},
    {"ids", part_ids},
};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv); }
