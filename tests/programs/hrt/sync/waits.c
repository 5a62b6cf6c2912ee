// SPDX-License-Identifier: Apache-2.0 OR MIT
// Wait queues, condition variables, semaphores, once.
#include "parts.h"

#define ITEMS 3000

static hrt_wait_queue_t queue = HRT_WAIT_QUEUE_INIT;
static uint32_t gate;

static bool is_open(void *number) { return __atomic_load_n(&gate, __ATOMIC_SEQ_CST) > (uintptr_t)number; }

static void *queue_waiter(void *number) {
    CHECK_EQUAL(hrt_wait_queue_wait_for(&queue, is_open, number, HRT_FOREVER), HRT_OK);
    return NULL;
}

static void *queue_waker(void *number) {
    uint32_t all = (uintptr_t)number == THREADS ? HRT_WAKE_NO_KICK : HRT_WAKE_KICK;
    for (uint32_t opened = 0; opened < THREADS; opened++) {
        __atomic_fetch_add(&gate, 1, __ATOMIC_SEQ_CST);
        CHECK_EQUAL(hrt_wait_queue_wake(&queue, HRT_WAKE_ALL, all), HRT_OK);
    }
    return NULL;
}

static void *queue_thread(void *number) {
    return (uintptr_t)number < THREADS ? queue_waiter(number) : queue_waker(number);
}

void wait_queues(void) {
    for (int round = 0; round < 50; round++) {
        gate = 0;
        in_threads(THREADS + 1, queue_thread);
    }
    uint32_t ticket;
    CHECK_EQUAL(hrt_wait_queue_prepare(&queue, &ticket), HRT_OK);
    CHECK_EQUAL(hrt_wait_queue_wait(&queue, ticket, in_ms(2)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_wait_queue_prepare(&queue, &ticket), HRT_OK);
    CHECK_EQUAL(hrt_wait_queue_wake(&queue, 1, HRT_WAKE_KICK), HRT_OK);
    CHECK_EQUAL(hrt_wait_queue_wait(&queue, ticket, HRT_FOREVER), HRT_OK);
    CHECK_EQUAL(hrt_wait_queue_prepare(&queue, &ticket), HRT_OK);
    hrt_wait_queue_cancel(&queue);
    gate = 0;
    CHECK_EQUAL(hrt_wait_queue_wait_for(&queue, is_open, NULL, in_ms(2)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_wait_queue_destroy(&queue), HRT_OK);
    hrt_wait_queue_init(&queue);
}

static hrt_mutex_t mutex = HRT_MUTEX_INIT;
static hrt_cond_t filled = HRT_COND_INIT, emptied = HRT_COND_INIT;
static unsigned stock, produced, consumed;
static uint32_t wake_flags;

static void *consumer(void *unused) {
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    while (consumed < ITEMS) {
        if (stock == 0) {
            CHECK_EQUAL(hrt_cond_wait(&filled, &mutex), HRT_OK);
            continue;
        }
        stock--;
        if (++consumed == ITEMS) {
            CHECK_EQUAL(hrt_cond_broadcast(&filled, wake_flags), HRT_OK);
        }
        CHECK_EQUAL(hrt_cond_signal(&emptied, wake_flags), HRT_OK);
    }
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    return unused;
}

static void *producer(void *unused) {
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    while (produced < ITEMS) {
        if (stock == 2) {
            CHECK_EQUAL(hrt_cond_wait(&emptied, &mutex), HRT_OK);
            continue;
        }
        stock++;
        produced++;
        CHECK_EQUAL(hrt_cond_signal(&filled, wake_flags), HRT_OK);
    }
    CHECK_EQUAL(hrt_cond_broadcast(&emptied, wake_flags), HRT_OK);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    return unused;
}

static void *either(void *number) { return (uintptr_t)number % 2 == 0 ? consumer(number) : producer(number); }

void conditions(void) {
    const uint32_t flags[] = {HRT_WAKE_KICK, HRT_WAKE_NO_KICK};
    for (unsigned way = 0; way < 2; way++) {
        wake_flags = flags[way];
        stock = produced = consumed = 0;
        in_threads(THREADS, either);
        CHECK_EQUAL(stock, 0);
        CHECK_EQUAL(consumed, ITEMS);
    }
    CHECK_EQUAL(hrt_cond_destroy(&filled), HRT_OK);
    CHECK_EQUAL(hrt_cond_destroy(&emptied), HRT_OK);
    hrt_cond_init(&filled);
    hrt_cond_init(&emptied);
}

void condition_time_outs(void) {
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    uint64_t deadline = in_ms(5);
    CHECK_EQUAL(hrt_cond_wait_until(&filled, &mutex, deadline), HRT_ETIMEDOUT);
    CHECK(hrt_now_ns() >= deadline);
    CHECK_EQUAL(hrt_cond_wait_until(&filled, &mutex, 0), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_mutex_trylock(&mutex), HRT_EBUSY);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    hrt_mutex_t recursive = HRT_MUTEX_INIT_RECURSIVE;
    CHECK_EQUAL(hrt_mutex_lock(&recursive), HRT_OK);
    CHECK_EQUAL(hrt_mutex_lock(&recursive), HRT_OK);
    CHECK_EQUAL(hrt_cond_wait_until(&filled, &recursive, in_ms(1)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_mutex_unlock(&recursive), HRT_OK);
    CHECK_EQUAL(hrt_mutex_unlock(&recursive), HRT_OK);
    CHECK_EQUAL(hrt_cond_wait_until(&filled, &recursive, in_ms(1)), HRT_EPERM);
}

static hrt_sem_t places = HRT_SEM_INIT(2);
static uint32_t inside;

static void *sem_work(void *unused) {
    for (int round = 0; round < 1000; round++) {
        CHECK_EQUAL(hrt_sem_wait(&places), HRT_OK);
        CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) <= 2);
        __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
        CHECK_EQUAL(hrt_sem_post(&places), HRT_OK);
    }
    return unused;
}

void semaphores(void) {
    uint32_t value;
    in_threads(THREADS, sem_work);
    CHECK_EQUAL(hrt_sem_value(&places, &value), HRT_OK);
    CHECK_EQUAL(value, 2);
    CHECK_EQUAL(hrt_sem_trywait(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_trywait(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_trywait(&places), HRT_EAGAIN);
    CHECK_EQUAL(hrt_sem_destroy(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_init(&places, HRT_SEM_MAX + 1), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_init(&places, HRT_SEM_MAX), HRT_OK);
    CHECK_EQUAL(hrt_sem_post(&places), HRT_EOVERFLOW);
    CHECK_EQUAL(hrt_sem_wait(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_post(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_init(&places, 0), HRT_OK);
}

void semaphore_time_outs(void) {
    CHECK_EQUAL(hrt_sem_wait_until(&places, in_ms(3)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_sem_wait_interruptible(&places, in_ms(3)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_sem_post(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_wait_until(&places, 0), HRT_OK);
    CHECK_EQUAL(hrt_sem_post(&places), HRT_OK);
    CHECK_EQUAL(hrt_sem_wait_interruptible(&places, HRT_FOREVER), HRT_OK);
}

static hrt_once_t once = HRT_ONCE_INIT;
static uint32_t begun;

static void work_once(void *arg) {
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    hrt_thread_sleep_until(in_ms(2));
    *(int *)arg = 5;
}

static void *once_thread(void *unused) {
    static int result;
    CHECK_EQUAL(hrt_once_call(&once, work_once, &result), HRT_OK);
    CHECK_EQUAL(result, 5);
    return unused;
}

void onces(void) {
    in_threads(THREADS, once_thread);
    CHECK_EQUAL(begun, 1);
    hrt_once_t second = HRT_ONCE_INIT;
    CHECK_EQUAL(hrt_once_end(&second), HRT_EPERM);
    CHECK_EQUAL(hrt_once_begin(&second), HRT_ONCE_YOURS);
    CHECK_EQUAL(hrt_once_abandon(&second), HRT_OK);
    CHECK_EQUAL(hrt_once_begin(&second), HRT_ONCE_YOURS);
    CHECK_EQUAL(hrt_once_end(&second), HRT_OK);
    CHECK_EQUAL(hrt_once_begin(&second), HRT_OK);
    CHECK_EQUAL(hrt_once_abandon(&second), HRT_EPERM);
}
