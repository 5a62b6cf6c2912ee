/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Waiting on words: wake-ups that are never lost, deadlines, moving waiters, signals, and misuse. */
#include "../common/check.h"
#include "places.h"

#include <hadal/hrt/sync.h>
#include <signal.h>
#include <time.h>

enum { THREADS = 8, ROUNDS = 2000 };

/* A lock and a turn with nothing but words. */
static uint32_t lock;
static uint64_t counted;

static void take(void) {
    uint32_t free = 0;
    if (__atomic_compare_exchange_n(&lock, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE) != 0) {
        int status = hrt_calls->wait(&lock, 2, HRT_FOREVER, 0);
        CHECK(status == HRT_OK || status == HRT_EAGAIN);
    }
}

static void give(void) {
    if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2) {
        hrt_calls->wake(&lock, 1, HRT_WAKE_KICK);
    }
}

static void *count(void *arg) {
    for (int i = 0; i < ROUNDS; i++) {
        take();
        counted++;
        if (i % 64 == 0) {
            hrt_thread_yield();
        }
        give();
    }
    return arg;
}

static uint32_t ball;

static void *player(void *arg) {
    uint32_t me = (uint32_t)(uintptr_t)arg;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t seen;
        while ((seen = __atomic_load_n(&ball, __ATOMIC_ACQUIRE)) % 2 != me) {
            hrt_calls->wait(&ball, seen, HRT_FOREVER, 0);
        }
        __atomic_store_n(&ball, seen + 1, __ATOMIC_RELEASE);
        hrt_calls->wake(&ball, UINT32_MAX, round % 8 == 0 ? HRT_WAKE_NO_KICK : HRT_WAKE_KICK);
    }
    return NULL;
}

static uint32_t gate, hall;
static uint32_t arrived, passed;

static void *through_the_gate(void *arg) {
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
    CHECK(hrt_calls->wait(&gate, 0, HRT_FOREVER, 0) == HRT_OK);
    __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
    return arg;
}

/* The thread is the `number`-th to come, and sleeps. */
static void until_it_waits(hrt_thread_t thread, uint32_t number) {
    struct hrt_thread_info info;
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) != number) {
        hrt_thread_yield();
    }
    do {
        hrt_thread_yield();
        CHECK(hrt_thread_info(thread, &info) == HRT_OK);
    } while (info.state != HRT_THREAD_WAITING);
}

static void moving(void) {
    hrt_thread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(hrt_thread_create(&threads[i], NULL, through_the_gate, NULL) == HRT_OK);
        until_it_waits(threads[i], (uint32_t)i + 1);
    }
    CHECK(hrt_calls->requeue(&gate, 1, 1, &hall) == HRT_EAGAIN);
    CHECK(hrt_calls->requeue(&gate, 0, 2, &hall) == HRT_OK);
    CHECK(hrt_calls->wake(&gate, UINT32_MAX, 0) == 0);
    CHECK(hrt_thread_join(threads[0], NULL) == HRT_OK && hrt_thread_join(threads[1], NULL) == HRT_OK);
    CHECK(passed == 2);
    /* Oldest first, also after the move. */
    for (int i = 2; i < THREADS; i++) {
        CHECK(hrt_calls->wake(&hall, 1, 0) == 1 && hrt_thread_join(threads[i], NULL) == HRT_OK);
    }
    CHECK(passed == THREADS && hrt_calls->wake(&hall, 1, 0) == 0);
}

static volatile sig_atomic_t handled;
static void on_signal(int number) { handled = number; }

static void deadlines_and_signals(void) {
    uint32_t word = 5;
    uint64_t start = hrt_now_ns();
    CHECK(hrt_calls->wait(&word, 5, start + 2000000, 0) == HRT_ETIMEDOUT && hrt_now_ns() >= start + 2000000);
    CHECK(hrt_calls->wait(&word, 5, 0, 0) == HRT_ETIMEDOUT);
    CHECK(hrt_calls->wait(&word, 6, HRT_FOREVER, 0) == HRT_EAGAIN);
    signal(SIGALRM, on_signal);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    /* Again and again: the first may come before the wait. */
    struct itimerspec when = {.it_value = {.tv_nsec = 2000000}, .it_interval = {.tv_nsec = 2000000}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CHECK(timer_settime(timer, 0, &when, NULL) == 0);
    CHECK(hrt_calls->wait(&word, 5, HRT_FOREVER, 0) == HRT_EINTR && handled == SIGALRM);
    CHECK(hrt_calls->wait(&word, 5, hrt_now_ns() + 20000000, HRT_WAIT_NO_INTR) == HRT_ETIMEDOUT);
    CHECK(timer_delete(timer) == 0);
}

static void misuse(void) {
    uint32_t word = 0;
    CHECK(hrt_calls->wait((uint32_t *)8, 0, HRT_FOREVER, 0) == HRT_EFAULT);
    CHECK(!has(CHECKED_POINTERS) || hrt_calls->wait((uint32_t *)(uintptr_t)hrt_calls, 0, 0, 0) == HRT_EFAULT);
    CHECK(hrt_calls->wait((uint32_t *)((char *)&word + 1), 0, 0, 0) == HRT_EINVAL);
    CHECK(hrt_calls->wait(&word, 0, 0, 0x80) == HRT_EINVAL);
    CHECK(hrt_calls->wake((uint32_t *)8, 1, 0) == 0);
    CHECK(!has(CHECKED_POINTERS) || hrt_calls->requeue(&word, 0, 1, (uint32_t *)8) == HRT_EFAULT);
    CHECK(hrt_calls->requeue((uint32_t *)8, 0, 1, &word) == HRT_EFAULT);
}

int main(void) {
    hrt_thread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK(hrt_thread_create(&threads[i], NULL, count, NULL) == HRT_OK);
    }
    CHECK(hrt_thread_join_all() == HRT_OK && counted == THREADS * ROUNDS);
    for (uintptr_t i = 0; i < 2; i++) {
        CHECK(hrt_thread_create(&threads[i], NULL, player, (void *)i) == HRT_OK);
    }
    CHECK(hrt_thread_join_all() == HRT_OK && ball == 2 * ROUNDS);
    moving();
    deadlines_and_signals();
    misuse();
    puts("words work");
    return 0;
}
