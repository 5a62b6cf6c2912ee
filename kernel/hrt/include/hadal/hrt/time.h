/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Clocks and timers. */
#ifndef HADAL_HRT_TIME_H
#define HADAL_HRT_TIME_H

#include "calls.h"

HRT_BEGIN

/* The monotonic clock, ns since boot (on Linux: CLOCK_MONOTONIC). Handler-safe. */
static inline uint64_t hrt_now_ns(void) { return hrt_calls->now_ns(); }
/* The processor's cycle counter, unordered: for intervals on one CPU. Handler-safe. */
static inline uint64_t hrt_cycles(void) { return __builtin_ia32_rdtsc(); }

/* Run the callback in a thread of libhrt's instead of interrupt context: it may use libc and wait. Such
 * timers are neither started nor cancelled in handlers. */
#define HRT_TIMER_THREAD 2u
/* Names of such timers have this bit. */
#define HRT_TIMER_THREAD_NAME (1ull << 63)

/* libhrt's part of timers with HRT_TIMER_THREAD. */
int hrt_thread_timer_start(uint64_t deadline_ns, hrt_handler_fn callback, void *arg, uint64_t *timer);
int hrt_thread_timer_cancel(uint64_t timer);

/*
 * Starts a one-shot timer on a CPU (HRT_CPU_ANY: the caller's): callback(arg) runs at the deadline, in
 * interrupt context (see hrt/irq.h; `flags`: HRT_HANDLER_VECTORS). To wake a thread use hrt_wake(), which is
 * handler-safe. `*timer` names it for hrt_timer_cancel(); `timer` may be NULL. HRT_EINVAL, HRT_ENOMEM.
 * Handler-safe.
 */
static inline int hrt_timer_start(int32_t cpu, uint64_t deadline_ns, hrt_handler_fn callback, void *arg,
                                  uint32_t flags, uint64_t *timer) {
    if (HRT_UNLIKELY(flags & HRT_TIMER_THREAD)) {
        return hrt_thread_timer_start(deadline_ns, callback, arg, timer);
    }
    return hrt_calls->timer_start(cpu, deadline_ns, callback, arg, flags, timer);
}
/* HRT_ESRCH: it has fired, or is firing on another CPU, or was cancelled. Handler-safe. */
static inline int hrt_timer_cancel(uint64_t timer) {
    if (HRT_UNLIKELY(timer & HRT_TIMER_THREAD_NAME)) {
        return hrt_thread_timer_cancel(timer);
    }
    return hrt_calls->timer_cancel(timer);
}

/* The HPET's main counter and its frequency in Hz. HRT_ENODEV. On Linux HRT_ENOSYS. */
static inline int hrt_hpet_read(uint64_t *count, uint64_t *hz) { return hrt_calls->hpet_read(count, hz); }
/* The PIT's channel 0 (it counts down) and its frequency in Hz. On Linux HRT_ENOSYS. */
static inline int hrt_pit_read(uint16_t *count, uint64_t *hz) { return hrt_calls->pit_read(count, hz); }

HRT_END

#endif
