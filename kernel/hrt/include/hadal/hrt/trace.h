/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Marks of the program in the trace of a run (`hadal run --trace`). */
#ifndef HADAL_HRT_TRACE_H
#define HADAL_HRT_TRACE_H

#include "calls.h"
#include "layout/trace.h"

HRT_BEGIN

/* libhrt's: marks whether a trace is recorded or not. */
void hrt_trace_mark_now(const char *text);

/*
 * Shows `text` in the trace, at this moment in the row of the calling thread. Only the first
 * HRT_TRACE_TEXT_BYTES bytes are kept. Without a trace, and on Linux, it does nothing, in four instructions.
 * Handler-safe.
 */
static inline void hrt_trace_mark(const char *text) {
    if (HRT_UNLIKELY(__atomic_load_n(hrt_calls->tracing, __ATOMIC_RELAXED))) {
        hrt_trace_mark_now(text);
    }
}

HRT_END

#endif
