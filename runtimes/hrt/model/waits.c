// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios of what threads wait for each other with: wait queue, condition variable, semaphore, once.
#include <hadal/hrt/sync.h>

#include "model.h"

#define SOON 1u // a deadline that may pass at any time

static int payload;
static uint32_t ready;

static hrt_wait_queue_t queue;
static void queue_setup(void) {
    payload = 0;
    ready = 0;
    hrt_wait_queue_init(&queue);
}
static bool is_ready(void *arg) {
    (void)arg;
    return HRT_LOAD(&ready, HRT_ACQUIRE) != 0;
}
static void queue_waiter(void) {
    model_check(hrt_wait_queue_wait_for(&queue, is_ready, NULL, HRT_FOREVER) == HRT_OK);
    model_check(MODEL_GET(payload) == 1);
}
static void queue_timed_waiter(void) {
    int status = hrt_wait_queue_wait_for(&queue, is_ready, NULL, SOON);
    model_check(status == HRT_OK || status == HRT_ETIMEDOUT);
    if (status == HRT_OK) {
        model_check(MODEL_GET(payload) == 1);
    }
}
static void make_ready(void) {
    MODEL_SET(payload, 1);
    HRT_STORE(&ready, 1, HRT_RELEASE);
}
static void queue_waker(void) {
    make_ready();
    model_check(hrt_wait_queue_wake(&queue, 1, HRT_WAKE_KICK) == HRT_OK);
}
static void queue_waker_all(void) {
    make_ready();
    model_check(hrt_wait_queue_wake(&queue, HRT_WAKE_ALL, HRT_WAKE_KICK) == HRT_OK);
}
static void queue_waker_twice(void) {
    make_ready();
    model_check(hrt_wait_queue_wake(&queue, 1, HRT_WAKE_KICK) == HRT_OK);
    model_check(hrt_wait_queue_wake(&queue, 1, HRT_WAKE_KICK) == HRT_OK);
}
// What the waker wrote is visible after the wait even when only the wait itself says so.
static void queue_waits_for_wake(void) {
    uint32_t ticket;
    model_check(hrt_wait_queue_prepare(&queue, &ticket) == HRT_OK);
    if (is_ready(NULL)) {
        hrt_wait_queue_cancel(&queue);
        return;
    }
    int status = hrt_wait_queue_wait(&queue, ticket, HRT_FOREVER);
    model_check(status == HRT_OK && MODEL_GET(payload) == 1);
}
static void queue_free_at_end(void) { model_check(hrt_wait_queue_destroy(&queue) == HRT_OK); }
// The waiter that the wake lets go destroys the queue, and nothing of the wake comes later.
static void queue_waiter_destroys(void) {
    uint32_t ticket;
    model_check(hrt_wait_queue_prepare(&queue, &ticket) == HRT_OK);
    if (is_ready(NULL)) {
        hrt_wait_queue_cancel(&queue);
        return;
    }
    model_check(hrt_wait_queue_wait(&queue, ticket, HRT_FOREVER) == HRT_OK);
    model_check(hrt_wait_queue_destroy(&queue) == HRT_OK);
    model_retire(&queue, sizeof queue);
}

static hrt_mutex_t mutex;
static hrt_cond_t cond;
static void cond_setup(void) {
    payload = 0;
    hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL);
    hrt_cond_init(&cond);
}
static void cond_setup_recursive(void) {
    cond_setup();
    hrt_mutex_init(&mutex, HRT_MUTEX_RECURSIVE);
}
static void cond_consumer(void) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    while (MODEL_GET(payload) == 0) {
        model_check(hrt_cond_wait(&cond, &mutex) == HRT_OK);
    }
    MODEL_SET(payload, MODEL_GET(payload) - 1);
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void cond_recursive_consumer(void) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    cond_consumer();
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void cond_timed_consumer(void) {
    int status = HRT_OK;
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    while (MODEL_GET(payload) == 0 && status == HRT_OK) {
        status = hrt_cond_wait_until(&cond, &mutex, SOON);
    }
    if (MODEL_GET(payload) > 0) {
        MODEL_SET(payload, MODEL_GET(payload) - 1);
        // Whoever takes one that another was woken for leaves it to the next signal: there is one for each.
    }
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void cond_produce(int items) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    MODEL_SET(payload, MODEL_GET(payload) + items);
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void cond_producer(void) {
    cond_produce(1);
    model_check(hrt_cond_signal(&cond, HRT_WAKE_KICK) == HRT_OK);
}
static void cond_producer_twice(void) {
    cond_producer();
    cond_producer();
}
static void cond_producer_locked(void) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    MODEL_SET(payload, MODEL_GET(payload) + 1);
    model_check(hrt_cond_signal(&cond, HRT_WAKE_NO_KICK) == HRT_OK);
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void cond_producer_of_two(void) {
    cond_produce(2);
    model_check(hrt_cond_broadcast(&cond, HRT_WAKE_KICK) == HRT_OK);
}
static void cond_free_at_end(void) {
    model_check(payload == 0);
    model_check(hrt_cond_destroy(&cond) == HRT_OK && hrt_mutex_destroy(&mutex) == HRT_OK);
}
static void cond_idle_at_end(void) {
    model_check(hrt_cond_destroy(&cond) == HRT_OK && hrt_mutex_destroy(&mutex) == HRT_OK);
}

static hrt_sem_t sem;
static void sem_setup(void) {
    payload = 0;
    hrt_sem_init(&sem, 0);
}
static void sem_setup_one(void) {
    payload = 0;
    hrt_sem_init(&sem, 1);
}
static void sem_waiter(void) { model_check(hrt_sem_wait(&sem) == HRT_OK); }
static void sem_timed_waiter(void) {
    int status = hrt_sem_wait_until(&sem, SOON);
    model_check(status == HRT_OK || status == HRT_ETIMEDOUT);
    if (status == HRT_OK) {
        model_check(hrt_sem_post(&sem) == HRT_OK);
    }
}
static void sem_interrupted_waiter(void) {
    if (hrt_sem_wait_interruptible(&sem, HRT_FOREVER) == HRT_OK) {
        model_check(hrt_sem_post(&sem) == HRT_OK);
    }
}
static void sem_relay(void) {
    model_check(hrt_sem_wait(&sem) == HRT_OK);
    model_check(hrt_sem_post(&sem) == HRT_OK);
}
static void sem_poster(void) { model_check(hrt_sem_post(&sem) == HRT_OK); }
static void sem_poster_twice(void) {
    sem_poster();
    sem_poster();
}
static void sem_section(void) {
    model_check(hrt_sem_wait(&sem) == HRT_OK);
    MODEL_SET(payload, MODEL_GET(payload) + 1);
    model_check(hrt_sem_post(&sem) == HRT_OK);
}
static void sem_waiter_destroys(void) {
    sem_waiter();
    model_check(hrt_sem_destroy(&sem) == HRT_OK);
    model_retire(&sem, sizeof sem);
}
static void sem_empty_at_end(void) {
    uint32_t value = 1;
    model_check(hrt_sem_value(&sem, &value) == HRT_OK && value == 0);
    model_check(hrt_sem_destroy(&sem) == HRT_OK);
}
static void sem_one_at_end(void) {
    uint32_t value = 0;
    model_check(hrt_sem_value(&sem, &value) == HRT_OK && value == 1);
}

static hrt_once_t once;
static int calls;
static void once_setup(void) {
    calls = 0;
    once = (hrt_once_t)HRT_ONCE_INIT;
}
static void once_work(void *arg) {
    (void)arg;
    MODEL_SET(calls, MODEL_GET(calls) + 1);
}
static void once_thread(void) {
    model_check(hrt_once_call(&once, once_work, NULL) == HRT_OK);
    model_check(MODEL_GET(calls) == 1);
}
// The first attempt fails half way; the next caller starts with what that left.
static void once_quitter(void) {
    int status = hrt_once_begin(&once);
    if (status == HRT_ONCE_YOURS && MODEL_GET(calls) == 0) {
        MODEL_SET(calls, 1);
        model_check(hrt_once_abandon(&once) == HRT_OK);
    } else if (status == HRT_ONCE_YOURS) {
        MODEL_SET(calls, MODEL_GET(calls) + 1);
        model_check(hrt_once_end(&once) == HRT_OK);
    }
}

const struct model_scenario model_wait_scenarios[] = {
    {.name = "queue/wake", .setup = queue_setup, .threads = {queue_waiter, queue_waker}},
    {.name = "queue/order", .setup = queue_setup, .threads = {queue_waits_for_wake, queue_waker}},
    {.name = "queue/two-wakes",
     .setup = queue_setup,
     .threads = {queue_waiter, queue_waiter, queue_waker_twice},
     .preemptions = 2},
    {.name = "queue/wake-all",
     .setup = queue_setup,
     .threads = {queue_waiter, queue_waiter, queue_waker_all},
     .finish = queue_free_at_end,
     .preemptions = 2},
    {.name = "queue/time-out",
     .setup = queue_setup,
     .threads = {queue_waiter, queue_timed_waiter, queue_waker_twice},
     .finish = queue_free_at_end,
     .preemptions = 2},
    {.name = "queue/destroy", .setup = queue_setup, .threads = {queue_waiter_destroys, queue_waker_all}},
    {.name = "cond/signal", .setup = cond_setup, .threads = {cond_consumer, cond_producer}, .preemptions = 4},
    {.name = "cond/signal-locked",
     .setup = cond_setup,
     .threads = {cond_consumer, cond_producer_locked},
     .preemptions = 4},
    {.name = "cond/two-signals",
     .setup = cond_setup,
     .threads = {cond_consumer, cond_consumer, cond_producer_twice},
     .finish = cond_free_at_end,
     .preemptions = 1},
    {.name = "cond/broadcast",
     .setup = cond_setup,
     .threads = {cond_consumer, cond_consumer, cond_producer_of_two},
     .finish = cond_free_at_end,
     .preemptions = 1},
    {.name = "cond/time-out",
     .setup = cond_setup,
     .threads = {cond_timed_consumer, cond_producer},
     .finish = cond_idle_at_end,
     .preemptions = 3},
    {.name = "cond/recursive",
     .setup = cond_setup_recursive,
     .threads = {cond_recursive_consumer, cond_producer},
     .finish = cond_free_at_end,
     .preemptions = 3},
    {.name = "sem/exclusion",
     .setup = sem_setup_one,
     .threads = {sem_section, sem_section, sem_section},
     .finish = sem_one_at_end,
     .preemptions = 2},
    {.name = "sem/two-posts",
     .setup = sem_setup,
     .threads = {sem_waiter, sem_waiter, sem_poster_twice},
     .finish = sem_empty_at_end,
     .preemptions = 3},
    {.name = "sem/two-posters",
     .setup = sem_setup,
     .threads = {sem_waiter, sem_waiter, sem_poster, sem_poster},
     .finish = sem_empty_at_end,
     .preemptions = 1},
    {.name = "sem/time-out",
     .setup = sem_setup,
     .threads = {sem_waiter, sem_timed_waiter, sem_poster},
     .finish = sem_empty_at_end,
     .preemptions = 2},
    {.name = "sem/signal",
     .setup = sem_setup,
     .threads = {sem_relay, sem_interrupted_waiter, sem_poster},
     .finish = sem_one_at_end,
     .preemptions = 1,
     .interrupts = 2},
    {.name = "sem/destroy", .setup = sem_setup, .threads = {sem_waiter_destroys, sem_poster}},
    {.name = "once/three",
     .setup = once_setup,
     .threads = {once_thread, once_thread, once_thread},
     .preemptions = 3},
    {.name = "once/abandon",
     .setup = once_setup,
     .threads = {once_quitter, once_quitter, once_quitter},
     .preemptions = 3},
    {.name = NULL},
};
