/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Queues of tasks, one for each CPU, in the program's own memory: no kernel and no lock on the way.
 *
 *   deque   what threads of the CPU have submitted to it: the newest comes out first there, thieves take the
 *           oldest (Chase and Lev 2005, with the orderings of Le and others 2013). One thread at a time works
 *           at its bottom; who finds another there (preempted in the middle, or on its way to another CPU)
 *           does not wait but goes by the inbox, or takes the oldest as a thief does.
 *   inbox   what other CPUs have sent: places that are empty or hold a task, in roughly the order of arrival.
 *
 * A thread may be preempted or moved anywhere. The number of the CPU is therefore a hint that decides about
 * speed, never about correctness, and nobody waits for a thread that does not run.
 *
 * An item is a task's address, with HRT_ITEM_STAYS added if the task is too small to be worth a move.
 */
#ifndef HRT_TASK_QUEUE_H
#define HRT_TASK_QUEUE_H

#include <hadal/hrt/atomic.h>
#include <hadal/hrt/base.h>

#define HRT_ITEM_STAYS ((uintptr_t)1)

struct hrt_task_queue {
    uintptr_t deque[HRT_TASKS_OWN]; /* first, where its places are nearest to reach */
    /* Of the CPU's own threads. */
    _Alignas(64) uint32_t busy; /* 1: a thread works at the bottom */
    uint32_t turn;              /* where the next search for something to steal begins */
    uint64_t bottom;            /* position of the next item; positions count up for ever */
    uint64_t pushed, popped;    /* counters: written by who has set `busy` */
    /* Of thieves. */
    _Alignas(64) uint64_t top; /* position of the oldest item */
    uint32_t movable;          /* items in the deque that are worth a move, and those about to come */
    /* Of others that send. */
    _Alignas(64) uint32_t sent[2]; /* items in the inbox, or about to come: those worth a move, others */
    uint32_t next_in, next_out;    /* places to look at first */
    uint64_t received, taken,
        stolen; /* counters: came in; left by the own CPU as a guest; taken from others */
    /* Of the worker. */
    _Alignas(64) uint32_t asleep; /* 1: it sleeps on this word, or is about to */
    _Alignas(64) uintptr_t inbox[HRT_TASKS_SENT];
};

struct hrt_task_queues {
    uint32_t count;
    uint32_t cpu_at_gs; /* of the call table */
    uint32_t sleepers;  /* workers that sleep; only ever wrong for a moment, and never too low for who has
                           queued something and passed a fence */
    struct hrt_task_queue *of[]; /* by CPU */
};

/* Adds an item to the queue of the caller's CPU; false: not by this way. */
static inline bool hrt_task_queue_push(struct hrt_task_queue *queue, uintptr_t item) {
    if (HRT_UNLIKELY(HRT_EXCHANGE(&queue->busy, 1, HRT_ACQUIRE))) {
        return false;
    }
    uint64_t bottom = HRT_LOAD(&queue->bottom, HRT_RELAXED);
    bool room = bottom - HRT_LOAD(&queue->top, HRT_ACQUIRE) < HRT_TASKS_OWN;
    if (HRT_LIKELY(room)) {
        if (!(item & HRT_ITEM_STAYS)) {
            HRT_FETCH_ADD(&queue->movable, 1, HRT_RELAXED);
        }
        HRT_STORE(&queue->deque[bottom % HRT_TASKS_OWN], item, HRT_RELAXED);
        HRT_STORE(&queue->bottom, bottom + 1, HRT_RELEASE);
        queue->pushed++;
    }
    HRT_STORE(&queue->busy, 0, HRT_RELEASE);
    return room;
}

/* Takes an item from the top; `guest` if the caller is on another CPU, who leaves small ones, unless larger
 * ones may be behind them. 0: nothing. */
uintptr_t hrt_task_queue_steal(struct hrt_task_queue *queue, bool guest);

/* Takes the newest item; for who has set `busy`. */
static inline bool hrt_task_queue_pop_newest(struct hrt_task_queue *queue, uintptr_t *item) {
    int64_t bottom = (int64_t)HRT_LOAD(&queue->bottom, HRT_RELAXED);
    int64_t last = bottom - 1;
    /* Releases, because a thief may read the position from here instead of from a push. */
    HRT_STORE(&queue->bottom, (uint64_t)last, HRT_RELEASE);
    /* A thief that does not see the new bottom has moved the top by now, and this sees that. */
    HRT_FENCE(HRT_SEQ_CST);
    uint64_t top = HRT_LOAD(&queue->top, HRT_RELAXED);
    if (last <= (int64_t)top) {
        /* Empty, or the last one: whoever moves the top has that. */
        bool won = last == (int64_t)top && HRT_CAS(&queue->top, &top, (uint64_t)bottom, HRT_ACQ_REL);
        HRT_STORE(&queue->bottom, (uint64_t)bottom, HRT_RELEASE);
        if (!won) {
            return false;
        }
    }
    *item = HRT_LOAD(&queue->deque[(uint64_t)last % HRT_TASKS_OWN], HRT_RELAXED);
    queue->popped++;
    return true;
}

/* Takes the newest item of the queue of the caller's CPU. False: there is none to be had by this way. */
static inline bool hrt_task_queue_pop(struct hrt_task_queue *queue, uintptr_t *item) {
    if (HRT_UNLIKELY(HRT_EXCHANGE(&queue->busy, 1, HRT_ACQUIRE))) {
        return false;
    }
    bool taken = hrt_task_queue_pop_newest(queue, item);
    HRT_STORE(&queue->busy, 0, HRT_RELEASE);
    if (taken && !(*item & HRT_ITEM_STAYS)) {
        HRT_FETCH_SUB(&queue->movable, 1, HRT_RELAXED);
    }
    return taken;
}

/* Wakes a worker for an item that has been added to the queue of a CPU: that of a CPU which would do nothing
 * else, and the CPU's own only if there is none, or if the item stays. */
void hrt_task_queues_wake(struct hrt_task_queues *queues, uint32_t cpu, bool stays);

/* After a push to the queue of `cpu`: whether hrt_task_queues_wake() has something to do. */
static inline bool hrt_task_queues_must_wake(const struct hrt_task_queues *queues,
                                             const struct hrt_task_queue *queue, bool stays) {
    /* A worker that does not see the item has said that it sleeps by now, and this sees that. */
    HRT_FENCE(HRT_SEQ_CST);
    if (stays) {
        return HRT_LOAD(&queue->asleep, HRT_RELAXED) != 0;
    }
    return HRT_LOAD(&queues->sleepers, HRT_RELAXED) != 0;
}

/* Adds an item to the inbox of a CPU, from anywhere, and wakes a worker for it; false: it is full. */
bool hrt_task_queues_send(struct hrt_task_queues *queues, uint32_t cpu, uintptr_t item);
/* Takes an item for a CPU in every way but hrt_task_queue_pop()'s: from its inbox, the oldest of its deque,
 * from other CPUs. 0: there is nothing. */
uintptr_t hrt_task_queues_search(struct hrt_task_queues *queues, uint32_t cpu);
/* For the worker of a CPU: sleeps until there may be something to take. False: there may be at once, perhaps
 * an item that a thread is just about to add. */
bool hrt_task_queues_sleep(struct hrt_task_queues *queues, uint32_t cpu);

#endif
