/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Nemo events (Hale and Dinda, 2016): notification of other CPUs near the cost of an interprocessor
 * interrupt.
 *   - active-message events: an action runs on the notified CPUs in interrupt context, by one vector and a
 * per-CPU table;
 *   - event waits: threads that sleep until an active-message event arrives at their CPU;
 *   - memory events: wait for a cache line to change, with MONITOR/MWAIT where the CPU has them, else by
 * polling;
 *   - condition variables with and without kick are hrt_cond_t (hrt/sync.h).
 * On Linux the action runs in a thread per CPU that libhrt-linux keeps for it.
 */
#ifndef HADAL_HRT_EVENT_H
#define HADAL_HRT_EVENT_H

#include "calls.h"
#include "layout/event.h"

HRT_BEGIN

/* Marks a function that may run as a handler without HRT_HANDLER_VECTORS: general registers only, and no
 * stack protector, which reads thread-local data. */
#if defined(__has_attribute)
#if __has_attribute(no_stack_protector)
#define HRT_HANDLER __attribute__((target("general-regs-only"), no_stack_protector))
#endif
#endif
#ifndef HRT_HANDLER
#define HRT_HANDLER __attribute__((target("general-regs-only")))
#endif

/* Registers action(arg) for every CPU; `*event` is its number, which is never used again. `flags`:
 * HRT_HANDLER_VECTORS. With NULL for the action the event only counts, for hrt_event_wait(). HRT_ENOSPC: all
 * HRT_EVENTS_MAX are taken. */
static inline int hrt_event_register(hrt_handler_fn action, void *arg, uint32_t flags, uint32_t *event) {
    return hrt_calls->event_register(action, arg, flags, event);
}
/* Returns when no CPU runs the action any more; what is still pending is dropped, and threads that wait for
 * the event get HRT_ESRCH. HRT_ESRCH: no such event; HRT_EPERM: with interrupts off. */
static inline int hrt_event_unregister(uint32_t event) { return hrt_calls->event_unregister(event); }
/* Notifications. Those of one event to one CPU that has not run the action yet become one. Handler-safe.
 * HRT_EINVAL: no such event or CPU. */
static inline int hrt_event_notify(uint32_t event, int32_t cpu) {
    return hrt_calls->event_notify(event, cpu);
}
/* Bit c % 64 of cpus[c / 64] is CPU c. If one does not exist (HRT_EINVAL), none is notified. HRT_EFAULT. */
static inline int hrt_event_notify_set(uint32_t event, const uint64_t *cpus, uint32_t words) {
    return hrt_calls->event_notify_set(event, cpus, words);
}
/* All CPUs by one interrupt command, the calling one only with HRT_EVENT_SELF in `flags`. */
static inline int hrt_event_notify_all(uint32_t event, uint32_t flags) {
    return hrt_calls->event_notify_all(event, flags);
}
/* Sleeps until the event has arrived at the caller's CPU more often than `*seen` times (its action has run),
 * and stores the number in `*seen` whatever happens; start with 0 for a new event, else with what a call with
 * deadline 0 gives. A thread that waits more than once is to be bound: each CPU counts for itself.
 * HRT_ETIMEDOUT, HRT_EINTR, HRT_ESRCH: no such event (any more). */
static inline int hrt_event_wait(uint32_t event, uint64_t *seen, uint64_t deadline_ns) {
    return hrt_calls->event_wait(event, seen, deadline_ns);
}
/* Waits, on the CPU, until `*word != old` or the deadline. Other ready threads of the CPU get their turn when
 * the slice ends. HRT_ETIMEDOUT, HRT_EINTR, HRT_EFAULT, HRT_EINVAL: not aligned to 8 bytes. */
static inline int hrt_memory_wait(const volatile uint64_t *word, uint64_t old, uint64_t deadline_ns) {
    return hrt_calls->memory_wait(word, old, deadline_ns);
}

HRT_END

#endif
