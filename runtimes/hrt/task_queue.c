// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queues of tasks: stealing, sending, and the workers that sleep for want of something to take.
#include "task_queue.h"

#include <hadal/hrt/calls.h>

// Not by the macros of hrt/atomic.h: nothing depends on it.
static void count(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

uintptr_t hrt_task_queue_steal(struct hrt_task_queue *queue, bool guest) {
    for (;;) {
        uint64_t top = HRT_LOAD(&queue->top, HRT_ACQUIRE);
        // Pairs with the one between a pop's step down and its look at the top.
        HRT_FENCE(HRT_SEQ_CST);
        uint64_t bottom = HRT_LOAD(&queue->bottom, HRT_ACQUIRE);
        if ((int64_t)(bottom - top) <= 0) {
            return 0;
        }
        uintptr_t item = HRT_LOAD(&queue->deque[top % HRT_TASKS_OWN], HRT_RELAXED);
        bool stays = item & HRT_ITEM_STAYS;
        if (guest && stays && HRT_LOAD(&queue->movable, HRT_RELAXED) == 0) {
            return 0;
        }
        if (HRT_CAS(&queue->top, &top, top + 1, HRT_ACQ_REL)) {
            if (!stays) {
                HRT_FETCH_SUB(&queue->movable, 1, HRT_RELAXED);
            }
            return item;
        }
    }
}

// Adds an item to the inbox; false: it is full.
static bool send(struct hrt_task_queue *queue, uintptr_t item) {
    uint32_t *sent = &queue->sent[item & HRT_ITEM_STAYS];
    // Before the item is there, so that nobody takes it and counts it off first.
    HRT_FETCH_ADD(sent, 1, HRT_RELAXED);
    uint32_t first = HRT_FETCH_ADD(&queue->next_in, 1, HRT_RELAXED);
    for (uint32_t i = 0; i < HRT_TASKS_SENT; i++) {
        uintptr_t *place = &queue->inbox[(first + i) % HRT_TASKS_SENT];
        uintptr_t empty = 0;
        if (HRT_LOAD(place, HRT_RELAXED) == 0 && HRT_CAS(place, &empty, item, HRT_ACQ_REL)) {
            count(&queue->received);
            return true;
        }
    }
    HRT_FETCH_SUB(sent, 1, HRT_RELAXED);
    return false;
}

// Whether there may be something in the inbox for the CPU itself, or for a guest.
static bool has_mail(const struct hrt_task_queue *queue, bool guest) {
    return HRT_LOAD(&queue->sent[0], HRT_RELAXED) || (!guest && HRT_LOAD(&queue->sent[1], HRT_RELAXED));
}

static uintptr_t receive(struct hrt_task_queue *queue, bool guest) {
    if (!has_mail(queue, guest)) {
        return 0;
    }
    uint32_t first = HRT_LOAD(&queue->next_out, HRT_RELAXED);
    for (uint32_t i = 0; i < HRT_TASKS_SENT; i++) {
        uintptr_t *place = &queue->inbox[(first + i) % HRT_TASKS_SENT];
        uintptr_t item = HRT_LOAD(place, HRT_RELAXED);
        if (item && !(guest && (item & HRT_ITEM_STAYS)) && HRT_CAS(place, &item, 0, HRT_ACQ_REL)) {
            HRT_STORE(&queue->next_out, first + i + 1, HRT_RELAXED);
            HRT_FETCH_SUB(&queue->sent[item & HRT_ITEM_STAYS], 1, HRT_RELAXED);
            return item;
        }
    }
    return 0;
}

uintptr_t hrt_task_queues_search(struct hrt_task_queues *queues, uint32_t cpu) {
    struct hrt_task_queue *own = queues->of[cpu];
    uintptr_t item = receive(own, false);
    if (!item) {
        item = hrt_task_queue_steal(own, false);
    }
    if (item) {
        count(&own->taken);
        return item;
    }
    uint32_t others = queues->count - 1;
    uint32_t turn = others ? HRT_FETCH_ADD(&own->turn, 1, HRT_RELAXED) % others : 0;
    for (uint32_t i = 0; i < others; i++) {
        struct hrt_task_queue *other = queues->of[(cpu + 1 + (turn + i) % others) % queues->count];
        item = hrt_task_queue_steal(other, true);
        if (!item) {
            item = receive(other, true);
        }
        if (item) {
            count(&own->stolen);
            return item;
        }
    }
    return 0;
}

// --- workers

static bool has_work(const struct hrt_task_queues *queues, uint32_t cpu) {
    const struct hrt_task_queue *own = queues->of[cpu];
    if (HRT_LOAD(&own->bottom, HRT_RELAXED) != HRT_LOAD(&own->top, HRT_RELAXED) || has_mail(own, false)) {
        return true;
    }
    for (uint32_t i = 0; i < queues->count; i++) {
        if (HRT_LOAD(&queues->of[i]->movable, HRT_RELAXED) || has_mail(queues->of[i], true)) {
            return true;
        }
    }
    return false;
}

// The worker of the queue is to be awake: true for the one who has to wake it.
static bool claim(struct hrt_task_queues *queues, struct hrt_task_queue *queue) {
    uint32_t asleep = 1;
    if (HRT_LOAD(&queue->asleep, HRT_RELAXED) == 0 || !HRT_CAS(&queue->asleep, &asleep, 0, HRT_ACQ_REL)) {
        return false;
    }
    HRT_FETCH_SUB(&queues->sleepers, 1, HRT_RELAXED);
    return true;
}

static bool wake(struct hrt_task_queues *queues, uint32_t cpu) {
    struct hrt_task_queue *queue = queues->of[cpu];
    if (!claim(queues, queue)) {
        return false;
    }
    hrt_calls->wake(&queue->asleep, 1, 0);
    return true;
}

static bool wake_another(struct hrt_task_queues *queues, uint32_t cpu) {
    bool woken = false;
    for (uint32_t i = 1; !woken && i < queues->count; i++) {
        woken = wake(queues, (cpu + i) % queues->count);
    }
    return woken;
}

void hrt_task_queues_wake(struct hrt_task_queues *queues, uint32_t cpu, bool stays) {
    if (stays || !wake_another(queues, cpu)) {
        wake(queues, cpu);
    }
}

bool hrt_task_queues_send(struct hrt_task_queues *queues, uint32_t cpu, uintptr_t item) {
    if (!send(queues->of[cpu], item)) {
        return false;
    }
    // As in hrt_task_queues_must_wake(), but the worker of the CPU that was named comes first.
    HRT_FENCE(HRT_SEQ_CST);
    if (!wake(queues, cpu) && !(item & HRT_ITEM_STAYS) && HRT_LOAD(&queues->sleepers, HRT_RELAXED)) {
        wake_another(queues, cpu);
    }
    return true;
}

bool hrt_task_queues_sleep(struct hrt_task_queues *queues, uint32_t cpu) {
    struct hrt_task_queue *queue = queues->of[cpu];
    HRT_FETCH_ADD(&queues->sleepers, 1, HRT_RELAXED);
    HRT_STORE(&queue->asleep, 1, HRT_RELEASE);
    // Pairs with the one in hrt_task_queues_must_wake().
    HRT_FENCE(HRT_SEQ_CST);
    bool sleeps = !has_work(queues, cpu);
    if (sleeps) {
        hrt_calls->wait(&queue->asleep, 1, HRT_FOREVER, 0);
    }
    claim(queues, queue);
    return sleeps;
}
