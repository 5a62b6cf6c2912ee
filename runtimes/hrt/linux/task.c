// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queues of tasks: one for each CPU, behind a mutex. The owner takes the newest, others the oldest that is
// worth a move.
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "linux.h"

#define CAPACITY 4096u
/* Smaller tasks stay on their CPU: a move costs about as much. */
#define WORTH_MOVING_NS 1000u

struct entry {
    void *task;
    uint32_t size_hint;
};

struct queue {
    _Alignas(64) pthread_mutex_t lock;
    uint32_t head, tail; /* oldest, behind the newest; count up for ever */
    uint32_t pushed;     /* what idle workers of this CPU sleep on */
    uint32_t sleepers;
    struct entry entries[CAPACITY];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct queue *queues;
static uint32_t count;

static void make(void) {
    count = hrt_linux_cpu_count();
    queues = aligned_alloc(64, count * sizeof *queues);
    for (uint32_t i = 0; queues && i < count; i++) {
        pthread_mutex_init(&queues[i].lock, NULL);
        queues[i].head = queues[i].tail = queues[i].pushed = queues[i].sleepers = 0;
    }
}

static bool worth_moving(uint32_t size_hint) { return size_hint == 0 || size_hint >= WORTH_MOVING_NS; }

static bool wake_one(uint32_t cpu) {
    struct queue *queue = &queues[cpu];
    __atomic_fetch_add(&queue->pushed, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&queue->sleepers, __ATOMIC_SEQ_CST) && hrt_linux_wake(&queue->pushed, 1, 0);
}

int hrt_linux_task_push(void *task, int32_t cpu, uint32_t size_hint) {
    pthread_once(&once, make);
    if (!queues) {
        return HRT_ENOMEM;
    }
    if (cpu == HRT_CPU_ANY) {
        cpu = (int32_t)hrt_linux_cpu_self();
    }
    if (cpu < 0 || (uint32_t)cpu >= count) {
        return HRT_EINVAL;
    }
    struct queue *queue = &queues[cpu];
    pthread_mutex_lock(&queue->lock);
    bool full = queue->tail - queue->head == CAPACITY;
    if (!full) {
        queue->entries[queue->tail++ % CAPACITY] = (struct entry){.task = task, .size_hint = size_hint};
    }
    pthread_mutex_unlock(&queue->lock);
    if (full) {
        return HRT_EAGAIN;
    }
    bool woken = wake_one((uint32_t)cpu);
    for (uint32_t i = 1; worth_moving(size_hint) && !woken && i < count; i++) {
        woken = wake_one(((uint32_t)cpu + i) % count);
    }
    return HRT_OK;
}

static void *take_newest(struct queue *queue) {
    void *task = NULL;
    pthread_mutex_lock(&queue->lock);
    if (queue->tail != queue->head) {
        task = queue->entries[--queue->tail % CAPACITY].task;
    }
    pthread_mutex_unlock(&queue->lock);
    return task;
}

static void *take_oldest(struct queue *queue) {
    void *task = NULL;
    pthread_mutex_lock(&queue->lock);
    if (queue->tail != queue->head && worth_moving(queue->entries[queue->head % CAPACITY].size_hint)) {
        task = queue->entries[queue->head++ % CAPACITY].task;
    }
    pthread_mutex_unlock(&queue->lock);
    return task;
}

void *hrt_linux_task_pop(void) {
    pthread_once(&once, make);
    if (!queues) {
        return NULL;
    }
    uint32_t cpu = hrt_linux_cpu_self();
    void *task = take_newest(&queues[cpu]);
    for (uint32_t i = 1; !task && i < count; i++) {
        task = take_oldest(&queues[(cpu + i) % count]);
    }
    return task;
}

// Whether the CPU would find something to pop.
static bool any(uint32_t cpu) {
    for (uint32_t i = 0; i < count; i++) {
        struct queue *queue = &queues[(cpu + i) % count];
        pthread_mutex_lock(&queue->lock);
        bool found = queue->tail != queue->head &&
                     (i == 0 || worth_moving(queue->entries[queue->head % CAPACITY].size_hint));
        pthread_mutex_unlock(&queue->lock);
        if (found) {
            return true;
        }
    }
    return false;
}

int hrt_linux_task_idle(uint64_t deadline_ns) {
    pthread_once(&once, make);
    if (!queues) {
        return HRT_ENOMEM;
    }
    uint32_t cpu = hrt_linux_cpu_self();
    struct queue *queue = &queues[cpu];
    __atomic_fetch_add(&queue->sleepers, 1, __ATOMIC_SEQ_CST);
    uint32_t seen = __atomic_load_n(&queue->pushed, __ATOMIC_SEQ_CST);
    int status = any(cpu) ? HRT_OK : hrt_linux_wait(&queue->pushed, seen, deadline_ns, 0);
    __atomic_fetch_sub(&queue->sleepers, 1, __ATOMIC_SEQ_CST);
    return status == HRT_EAGAIN ? HRT_OK : status;
}
