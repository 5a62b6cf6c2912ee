// SPDX-License-Identifier: Apache-2.0 OR MIT
// Marks in traces. Compiled for handlers, which may not use vector registers.
#include "internal.h"

HRT_HANDLER void hrt_trace_mark_now(const char *text) {
    uint64_t words[HRT_TRACE_TEXT_BYTES / 8] = {0, 0};
    for (size_t i = 0; i < HRT_TRACE_TEXT_BYTES && text[i]; i++) {
        words[i / 8] |= (uint64_t)(unsigned char)text[i] << (i % 8 * 8);
    }
    hrt_calls->trace_mark(words[0], words[1]);
}
