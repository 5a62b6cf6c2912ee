// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Signals to a process and its threads: every part, or those named on the command line.

#include "set.h"

static const struct part parts[] = {
    {"kill", part_kill},           {"masks", part_masks},     {"nested", part_nested},
    {"altstack", part_altstack},   {"info", part_info},       {"realtime", part_realtime},
    {"wait", part_wait},           {"alarm", part_alarm},     {"restart", part_restart},
    {"restarted", part_restarted}, {"threads", part_threads}, {"jump", part_jump},
    {"ignored", part_ignored},
};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof parts[0], argc, argv); }
