// SPDX-License-Identifier: Apache-2.0 OR MIT
// Linux has no trace for marks.
#define _GNU_SOURCE
#include "linux.h"

const bool hrt_linux_tracing = false;

void hrt_linux_trace_mark(uint64_t first, uint64_t second) {
    (void)first;
    (void)second;
}
