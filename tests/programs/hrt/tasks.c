/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Task queues: newest first for their own CPU, every task taken once, workers that sleep and are woken. */
#include "table.h"

enum { MANY = 20000, FULL = 4096, SMALL_NS = 100 };

static uint32_t runs[MANY + 1];
static uint64_t done;

static void run(void *task) {
    uintptr_t number = (uintptr_t)task;
    CHECK(number >= 1 && number <= MANY);
    CHECK(__atomic_fetch_add(&runs[number], 1, __ATOMIC_RELAXED) == 0);
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
}

static void *work(void *arg) {
    for (;;) {
        void *task = hrt_calls->task_pop();
        if (task) {
            run(task);
        } else if (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == MANY) {
            return arg;
        } else {
            hrt_calls->task_idle(hrt_now_ns() + 50000000);
        }
    }
}

static void order(void) {
    CHECK(hrt_thread_bind(hrt_thread_self(), 0) == HRT_OK);
    for (uintptr_t task = 1; task <= 6; task++) {
        CHECK(hrt_calls->task_push((void *)task, 0, task % 2 ? SMALL_NS : 0) == HRT_OK);
    }
    for (uintptr_t task = 6; task >= 1; task--) {
        CHECK(hrt_calls->task_pop() == (void *)task);
    }
    CHECK(hrt_calls->task_pop() == NULL);
    /* A queue has an end, and loses nothing there. */
    uintptr_t count = 0;
    while (hrt_calls->task_push((void *)(count + 1), HRT_CPU_ANY, 0) == HRT_OK) {
        CHECK(++count < FULL);
    }
    CHECK(hrt_calls->task_push((void *)1, HRT_CPU_ANY, 0) == HRT_EAGAIN);
    for (; count > 0; count--) {
        CHECK(hrt_calls->task_pop() == (void *)count);
    }
    /* Misuse. */
    CHECK(hrt_calls->task_push((void *)1, (int32_t)hrt_calls->cpu_count(), 0) == HRT_EINVAL);
    CHECK(hrt_calls->task_push((void *)1, -5, 0) == HRT_EINVAL);
    CHECK(hrt_calls->task_push(NULL, 0, 0) == HRT_EINVAL);
    CHECK(hrt_calls->task_idle(hrt_now_ns() + 1000000) == HRT_ETIMEDOUT);
    CHECK(hrt_calls->task_idle(0) == HRT_ETIMEDOUT);
    CHECK(hrt_thread_bind(hrt_thread_self(), HRT_CPU_ANY) == HRT_OK);
}

static void workers(void) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.priority = 0;
    int32_t cpus = (int32_t)hrt_calls->cpu_count();
    for (attr.cpu = 0; attr.cpu < cpus; attr.cpu++) {
        CHECK(hrt_thread_create(NULL, &attr, work, NULL) == HRT_OK);
    }
    for (uintptr_t task = 1; task <= MANY; task++) {
        int32_t cpu = task % 3 == 0 ? (int32_t)(task / 3 % (uintptr_t)cpus) : HRT_CPU_ANY;
        if (hrt_calls->task_push((void *)task, cpu, task % 5 ? 0 : SMALL_NS) != HRT_OK) {
            run((void *)task);
        }
        if (task % 1000 == 0) {
            hrt_thread_sleep_until(hrt_now_ns() + 500000);
        }
    }
    CHECK(hrt_thread_join_all() == HRT_OK && done == MANY);
}

int main(void) {
    bind_table();
    order();
    workers();
    puts("tasks work");
    return 0;
}
