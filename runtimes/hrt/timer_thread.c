// SPDX-License-Identifier: Apache-2.0 OR MIT
// Timers whose callbacks run in a thread (HRT_TIMER_THREAD). One thread serves all of them: it sleeps on a
// word until the earliest deadline, or until somebody starts a timer that is earlier.
#include <stdlib.h>

#include "internal.h"

// A pending timer, or a free place for one. A timer's name is its place, the place's generation, and the
// mark.
struct place {
    uint64_t deadline_ns;
    hrt_handler_fn callback;
    void *arg;
    uint32_t generation;
    uint32_t heap_index; // while pending; else the next free place
};

#define GENERATIONS 0x7fffffffu
#define NONE UINT32_MAX

static hrt_mutex_t lock = HRT_MUTEX_INIT;
static hrt_once_t started = HRT_ONCE_INIT;
// Changed whenever the thread has to look again.
static uint32_t changes;

static struct place *places;
static uint32_t *heap; // places, a binary heap by deadline
static uint32_t capacity, pending;
static uint32_t free_places = NONE;

static bool earlier(uint32_t a, uint32_t b) {
    return places[heap[a]].deadline_ns < places[heap[b]].deadline_ns;
}

static void put(uint32_t index, uint32_t place) {
    heap[index] = place;
    places[place].heap_index = index;
}

static void swap(uint32_t a, uint32_t b) {
    uint32_t place = heap[a];
    put(a, heap[b]);
    put(b, place);
}

static void sift_up(uint32_t index) {
    while (index > 0 && earlier(index, (index - 1) / 2)) {
        swap(index, (index - 1) / 2);
        index = (index - 1) / 2;
    }
}

static void sift_down(uint32_t index) {
    for (;;) {
        uint32_t first = index, child = 2 * index + 1;
        if (child < pending && earlier(child, first)) {
            first = child;
        }
        if (child + 1 < pending && earlier(child + 1, first)) {
            first = child + 1;
        }
        if (first == index) {
            return;
        }
        swap(index, first);
        index = first;
    }
}

// Takes a pending timer out; its name means nothing any more.
static void take_out(uint32_t place) {
    uint32_t index = places[place].heap_index;
    uint32_t last = heap[--pending];
    if (last != place) {
        put(index, last);
        sift_up(index);
        sift_down(places[last].heap_index);
    }
    places[place].generation = (places[place].generation + 1) & GENERATIONS;
    places[place].heap_index = free_places;
    free_places = place;
}

static bool grow(void) {
    uint32_t larger = capacity ? 2 * capacity : 64;
    void *memory = realloc(places, larger * sizeof *places);
    if (!memory) {
        return false;
    }
    places = memory;
    memory = realloc(heap, larger * sizeof *heap);
    if (!memory) {
        return false;
    }
    heap = memory;
    while (capacity < larger) {
        places[capacity] = (struct place){.heap_index = free_places};
        free_places = capacity++;
    }
    return true;
}

static void *serve(void *arg) {
    hrt_mutex_lock(&lock);
    for (;;) {
        uint64_t deadline_ns = pending ? places[heap[0]].deadline_ns : HRT_FOREVER;
        if (deadline_ns <= hrt_now_ns()) {
            struct place due = places[heap[0]];
            take_out(heap[0]);
            hrt_mutex_unlock(&lock);
            due.callback(due.arg);
        } else {
            uint32_t seen = __atomic_load_n(&changes, __ATOMIC_RELAXED);
            hrt_mutex_unlock(&lock);
            hrt_wait(&changes, seen, deadline_ns, 0);
        }
        hrt_mutex_lock(&lock);
    }
    return arg;
}

// Makes the thread, once; another caller tries again if that failed.
static int start(void) {
    int status = hrt_once_begin(&started);
    if (status != HRT_ONCE_YOURS) {
        return status;
    }
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_DETACHED;
    attr.priority = HRT_PRIORITIES - 1;
    attr.name = "hrt timers";
    status = hrt_thread_create(NULL, &attr, serve, NULL);
    if (status != HRT_OK) {
        hrt_once_abandon(&started);
        return status;
    }
    return hrt_once_end(&started);
}

int hrt_thread_timer_start(uint64_t deadline_ns, hrt_handler_fn callback, void *arg, uint64_t *timer) {
    if (!callback) {
        return HRT_EINVAL;
    }
    int status = start();
    if (status != HRT_OK) {
        return status;
    }
    hrt_mutex_lock(&lock);
    if (free_places == NONE && !grow()) {
        hrt_mutex_unlock(&lock);
        return HRT_ENOMEM;
    }
    uint32_t place = free_places;
    free_places = places[place].heap_index;
    places[place].deadline_ns = deadline_ns;
    places[place].callback = callback;
    places[place].arg = arg;
    put(pending, place);
    sift_up(pending++);
    bool first = heap[0] == place;
    if (timer) {
        *timer = HRT_TIMER_THREAD_NAME | (uint64_t)places[place].generation << 32 | place;
    }
    if (first) {
        __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
    }
    hrt_mutex_unlock(&lock);
    if (first) {
        hrt_wake(&changes, 1, HRT_WAKE_KICK);
    }
    return HRT_OK;
}

int hrt_thread_timer_cancel(uint64_t timer) {
    uint32_t place = (uint32_t)timer;
    int status = HRT_ESRCH;
    hrt_mutex_lock(&lock);
    // A free place's index into the heap is something else, and its generation is ahead of all names.
    if (place < capacity && places[place].generation == (timer >> 32 & GENERATIONS) &&
        places[place].callback) {
        uint32_t index = places[place].heap_index;
        if (index < pending && heap[index] == place) {
            take_out(place);
            status = HRT_OK;
        }
    }
    hrt_mutex_unlock(&lock);
    return status;
}
