// SPDX-License-Identifier: Apache-2.0 OR MIT
// Pending timers by deadline.
#include "timer_heap.h"

#include <stdlib.h>

static bool earlier(const struct hrt_timer_heap *heap, uint32_t a, uint32_t b) {
    return heap->places[heap->heap[a]].deadline_ns < heap->places[heap->heap[b]].deadline_ns;
}

static void put(struct hrt_timer_heap *heap, uint32_t index, uint32_t place) {
    heap->heap[index] = place;
    heap->places[place].heap_index = index;
}

static void swap(struct hrt_timer_heap *heap, uint32_t a, uint32_t b) {
    uint32_t place = heap->heap[a];
    put(heap, a, heap->heap[b]);
    put(heap, b, place);
}

static void sift_up(struct hrt_timer_heap *heap, uint32_t index) {
    while (index > 0 && earlier(heap, index, (index - 1) / 2)) {
        swap(heap, index, (index - 1) / 2);
        index = (index - 1) / 2;
    }
}

static void sift_down(struct hrt_timer_heap *heap, uint32_t index) {
    for (;;) {
        uint32_t first = index, child = 2 * index + 1;
        if (child < heap->pending && earlier(heap, child, first)) {
            first = child;
        }
        if (child + 1 < heap->pending && earlier(heap, child + 1, first)) {
            first = child + 1;
        }
        if (first == index) {
            return;
        }
        swap(heap, index, first);
        index = first;
    }
}

static void take_out(struct hrt_timer_heap *heap, uint32_t place) {
    struct hrt_timer *timer = &heap->places[place];
    uint32_t index = timer->heap_index;
    uint32_t last = heap->heap[--heap->pending];
    if (last != place) {
        put(heap, index, last);
        sift_up(heap, index);
        sift_down(heap, heap->places[last].heap_index);
    }
    timer->generation = (timer->generation + 1) & HRT_TIMER_GENERATIONS;
    timer->heap_index = heap->free;
    heap->free = place;
}

static bool grow(struct hrt_timer_heap *heap) {
    uint32_t larger = heap->capacity ? 2 * heap->capacity : 64;
    void *memory = realloc(heap->places, larger * sizeof *heap->places);
    if (!memory) {
        return false;
    }
    heap->places = memory;
    memory = realloc(heap->heap, larger * sizeof *heap->heap);
    if (!memory) {
        return false;
    }
    heap->heap = memory;
    // Called when no place is free: the new ones, the lowest first.
    heap->free = heap->capacity;
    while (heap->capacity < larger) {
        heap->places[heap->capacity] = (struct hrt_timer){.heap_index = heap->capacity + 1};
        heap->capacity++;
    }
    return true;
}

uint32_t hrt_timer_add(struct hrt_timer_heap *heap, uint64_t deadline_ns, hrt_handler_fn callback,
                       void *arg) {
    if (heap->pending == heap->capacity && !grow(heap)) {
        return UINT32_MAX;
    }
    uint32_t place = heap->free;
    struct hrt_timer *timer = &heap->places[place];
    heap->free = timer->heap_index;
    timer->deadline_ns = deadline_ns;
    timer->callback = callback;
    timer->arg = arg;
    put(heap, heap->pending, place);
    sift_up(heap, heap->pending++);
    return place;
}

bool hrt_timer_remove(struct hrt_timer_heap *heap, uint32_t place, uint32_t generation) {
    if (place >= heap->capacity || heap->places[place].generation != generation) {
        return false;
    }
    // A free place is in nobody's entry of the heap.
    uint32_t index = heap->places[place].heap_index;
    if (index >= heap->pending || heap->heap[index] != place) {
        return false;
    }
    take_out(heap, place);
    return true;
}

uint64_t hrt_timer_next(const struct hrt_timer_heap *heap) {
    return heap->pending ? heap->places[heap->heap[0]].deadline_ns : HRT_FOREVER;
}

bool hrt_timer_due(struct hrt_timer_heap *heap, uint64_t now_ns, struct hrt_timer *timer) {
    if (!heap->pending || hrt_timer_next(heap) > now_ns) {
        return false;
    }
    *timer = heap->places[heap->heap[0]];
    take_out(heap, heap->heap[0]);
    return true;
}
