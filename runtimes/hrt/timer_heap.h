/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Pending timers by deadline: a binary heap, and names that never mean another timer later. The caller locks.
 */
#ifndef HRT_TIMER_HEAP_H
#define HRT_TIMER_HEAP_H

#include "internal.h"

#define HRT_TIMER_GENERATIONS 0x7fffffffu

struct hrt_timer {
    uint64_t deadline_ns;
    hrt_handler_fn callback;
    void *arg;
    uint32_t generation;
    uint32_t heap_index; /* while pending; else the next free place */
};

struct hrt_timer_heap {
    struct hrt_timer *places;
    uint32_t *heap; /* places; none has a later deadline than the two at twice its index plus one and two */
    uint32_t capacity, pending;
    uint32_t free; /* first free place */
};

/* Adds a timer and returns its place, or UINT32_MAX when memory is out. Place and generation are its name. */
uint32_t hrt_timer_add(struct hrt_timer_heap *heap, uint64_t deadline_ns, hrt_handler_fn callback, void *arg);
/* Takes a timer out by its name; false if it is not pending. */
bool hrt_timer_remove(struct hrt_timer_heap *heap, uint32_t place, uint32_t generation);
/* The earliest deadline, or HRT_FOREVER. */
uint64_t hrt_timer_next(const struct hrt_timer_heap *heap);
/* Takes the earliest timer out if its time has come. */
bool hrt_timer_due(struct hrt_timer_heap *heap, uint64_t now_ns, struct hrt_timer *timer);

#endif
