/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* One-shot timers with callbacks, on every CPU; cancelling; misuse that is an error. */
#define _GNU_SOURCE
#include "event.h"

#include <stdlib.h>

static struct counter fired[CPUS_MAX];
static uint64_t fired_at;

static HRT_HANDLER void count_here(void *arg) {
    (void)arg;
    count(&fired[hrt_cpu_self()]);
}

static HRT_HANDLER void note_time(void *arg) {
    (void)arg;
    __atomic_store_n(&fired_at, hrt_now_ns(), __ATOMIC_RELEASE);
}

static void every_cpu(void) {
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        uint64_t timer;
        CHECK(hrt_timer_start((int32_t)cpu, hrt_now_ns() + 500000, count_here, NULL, 0, &timer) == HRT_OK);
        CHECK(timer != 0);
        UNTIL(count_of(&fired[cpu]) == 1);
        CHECK(hrt_timer_cancel(timer) == HRT_ESRCH);
        /* In the past: at once. */
        CHECK(hrt_timer_start((int32_t)cpu, 0, count_here, NULL, HRT_HANDLER_VECTORS, NULL) == HRT_OK);
        UNTIL(count_of(&fired[cpu]) == 2);
        /* Never before its time. */
        uint64_t deadline = hrt_now_ns() + 3000000;
        fired_at = 0;
        CHECK(hrt_timer_start((int32_t)cpu, deadline, note_time, NULL, 0, &timer) == HRT_OK);
        UNTIL(__atomic_load_n(&fired_at, __ATOMIC_ACQUIRE) != 0);
        CHECK(fired_at >= deadline);
    }
}

/* An earlier timer on a CPU that waits for a later one; all fire, in their order or not. */
static void many(void) {
    uint32_t target = cpus() - 1;
    uint64_t before = count_of(&fired[target]);
    uint64_t start = hrt_now_ns() + 2000000;
    for (int i = 0; i < 500; i++) {
        uint64_t deadline = start + (uint64_t)(i * 7919 % 500) * 10000;
        CHECK(hrt_timer_start((int32_t)target, deadline, count_here, NULL, 0, NULL) == HRT_OK);
    }
    UNTIL(count_of(&fired[target]) == before + 500);
}

static void cancelling(void) {
    for (uint32_t cpu = 0; cpu < cpus(); cpu++) {
        uint64_t timer, before = count_of(&fired[cpu]);
        CHECK(hrt_timer_start((int32_t)cpu, hrt_now_ns() + 20000000, count_here, NULL, 0, &timer) == HRT_OK);
        CHECK(hrt_timer_cancel(timer) == HRT_OK);
        CHECK(hrt_timer_cancel(timer) == HRT_ESRCH);
        usleep(25000);
        CHECK(count_of(&fired[cpu]) == before);
        /* Either cancelled or fired, never both and never none. */
        for (int round = 0; round < 50; round++) {
            before = count_of(&fired[cpu]);
            CHECK(hrt_timer_start((int32_t)cpu, hrt_now_ns() + (uint64_t)(round % 10) * 10000, count_here,
                                  NULL, 0, &timer) == HRT_OK);
            int status = hrt_timer_cancel(timer);
            CHECK(status == HRT_OK || status == HRT_ESRCH);
            if (status == HRT_ESRCH) {
                UNTIL(count_of(&fired[cpu]) == before + 1);
            }
        }
    }
    CHECK(hrt_timer_cancel(0) == HRT_ESRCH);
    CHECK(hrt_timer_cancel(UINT64_MAX >> 1) == HRT_ESRCH);
    /* The kernel's own timers cannot be guessed at. */
    for (uint64_t name = 1; name < 0x10000; name += 0x1000) {
        int status = hrt_timer_cancel(name);
        CHECK(status == HRT_ESRCH);
    }
}

static struct counter periods;
static uint32_t ended;

/* A periodic timer out of one-shot ones: starting one is handler-safe on the own CPU. */
static HRT_HANDLER void again(void *arg) {
    uint64_t next;
    count(&periods);
    if (count_of(&periods) < (uint64_t)(uintptr_t)arg) {
        if (hrt_timer_start(HRT_CPU_ANY, hrt_now_ns() + 100000, again, arg, 0, &next) != HRT_OK) {
            __atomic_store_n(&ended, 2, __ATOMIC_RELEASE);
        }
    } else {
        __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
        hrt_wake(&ended, 1, HRT_WAKE_KICK);
    }
}

/* A callback wakes a thread that sleeps on a word. */
static void periodic(void) {
    CHECK(hrt_timer_start((int32_t)cpus() - 1, 0, again, (void *)50, 0, NULL) == HRT_OK);
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) == 0) {
        hrt_wait(&ended, 0, HRT_FOREVER, 0);
    }
    CHECK(ended == 1 && count_of(&periods) == 50);
}

static uint32_t in_thread[8];

/* Runs in a thread: it may use libc, and be slow. */
static void take_note(void *arg) {
    char *text = NULL;
    CHECK(asprintf(&text, "%d", 42) == 2);
    free(text);
    usleep(1000);
    __atomic_fetch_add((uint32_t *)arg, 1, __ATOMIC_ACQ_REL);
    hrt_wake(arg, HRT_WAKE_ALL, HRT_WAKE_KICK);
}

static void threads(void) {
    uint64_t timers[8], cancelled;
    CHECK(hrt_timer_start(0, hrt_now_ns() + 100000000000, take_note, &in_thread[0], HRT_TIMER_THREAD,
                          &cancelled) == HRT_OK);
    for (int i = 0; i < 8; i++) {
        uint64_t deadline = hrt_now_ns() + (uint64_t)(8 - i) * 2000000;
        CHECK(hrt_timer_start(HRT_CPU_ANY, deadline, take_note, &in_thread[i], HRT_TIMER_THREAD,
                              i % 2 ? &timers[i] : NULL) == HRT_OK);
    }
    CHECK(hrt_timer_cancel(cancelled) == HRT_OK && hrt_timer_cancel(cancelled) == HRT_ESRCH);
    for (int i = 0; i < 8; i++) {
        while (__atomic_load_n(&in_thread[i], __ATOMIC_ACQUIRE) == 0) {
            hrt_wait(&in_thread[i], 0, HRT_FOREVER, 0);
        }
        CHECK(i % 2 == 0 || hrt_timer_cancel(timers[i]) == HRT_ESRCH);
    }
    CHECK(hrt_timer_start(0, 0, NULL, NULL, HRT_TIMER_THREAD, NULL) == HRT_EINVAL);
}

static void errors(void) {
    uint64_t timer;
    CHECK(hrt_timer_start((int32_t)cpus(), 0, count_here, NULL, 0, &timer) == HRT_EINVAL);
    CHECK(hrt_timer_start(-2, 0, count_here, NULL, 0, &timer) == HRT_EINVAL);
    CHECK(hrt_timer_start(0, 0, NULL, NULL, 0, &timer) == HRT_EINVAL);
    CHECK(hrt_timer_start(0, 0, count_here, NULL, 0x100, &timer) == HRT_EINVAL);
    CHECK(!has(CHECKED_POINTERS) || hrt_timer_start(0, 0, count_here, NULL, 0, (uint64_t *)64) == HRT_EFAULT);
    CHECK(hrt_timer_start(0, HRT_FOREVER, count_here, NULL, 0, &timer) == HRT_OK);
    CHECK(hrt_timer_cancel(timer) == HRT_OK);
}

int main(void) {
    clear(fired);
    every_cpu();
    many();
    cancelling();
    periodic();
    threads();
    errors();
    puts("timers work");
    return 0;
}
