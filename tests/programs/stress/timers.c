// SPDX-License-Identifier: Apache-2.0 OR MIT
// Timers: none fires early, twice, or after it was cancelled; callbacks wake threads by words and semaphores.
#include "stress.h"

#define SHOTS 8u

struct shot {
    uint64_t deadline;
    uint64_t fired_ns; // the callback's last store
    uint32_t fired;
    uint32_t *woken; // a word that the callback changes and wakes, or NULL
    hrt_sem_t *posted;
    bool guarded;
};

// Not on a stack: a callback must find its memory present, also when the worker has come to an end.
static struct shot shots[WORKERS_MAX][SHOTS];
static uint32_t words[WORKERS_MAX];
static hrt_sem_t sems[WORKERS_MAX];

void timer_prepare(void) {
    memset(shots, 0, sizeof shots);
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        words[i] = 0;
        CHECK_EQUAL(hrt_sem_init(&sems[i], 0), HRT_OK);
    }
}

static HRT_HANDLER void fire(void *arg) {
    struct shot *shot = arg;
    if (shot->guarded) {
        pass_in_handler();
    }
    if (shot->woken != NULL) {
        __atomic_fetch_add(shot->woken, 1, __ATOMIC_RELEASE);
        hrt_wake(shot->woken, HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
    if (shot->posted != NULL) {
        hrt_sem_post(shot->posted);
    }
    __atomic_fetch_add(&shot->fired, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shot->fired_ns, hrt_now_ns(), __ATOMIC_RELEASE);
}

static uint64_t fired_ns(const struct shot *shot) {
    return __atomic_load_n(&shot->fired_ns, __ATOMIC_ACQUIRE);
}

static void check_shots(struct worker *worker, uint32_t count, const bool *cancelled) {
    for (uint32_t i = 0; i < count; i++) {
        const struct shot *shot = &shots[worker->index][i];
        uint32_t tries = 0;
        STEP(worker);
        while (!cancelled[i] && fired_ns(shot) == 0) {
            idle_a_bit(&tries);
        }
        if (cancelled[i]) {
            CHECK_EQUAL(fired_ns(shot), 0);
        } else {
            CHECK(fired_ns(shot) >= shot->deadline);
            CHECK_EQUAL(shot->fired, 1);
        }
    }
}

static void shoot(struct worker *worker) {
    struct dice *dice = &worker->dice;
    bool cancelled[SHOTS] = {false};
    uint64_t timers[SHOTS];
    uint32_t count = 1 + below(dice, SHOTS);
    for (uint32_t i = 0; i < count; i++) {
        struct shot *shot = &shots[worker->index][i];
        *shot = (struct shot){.deadline = soon(dice), .guarded = one_in(dice, 4)};
        int32_t cpu = one_in(dice, 4) ? HRT_CPU_ANY : any_cpu(dice);
        CHECK_EQUAL(hrt_timer_start(cpu, shot->deadline, fire, shot, 0, &timers[i]), HRT_OK);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (one_in(dice, 3)) {
            if (one_in(dice, 2)) {
                hrt_thread_sleep_until(soon(dice));
            }
            int status = hrt_timer_cancel(timers[i]);
            CHECK(status == HRT_OK || status == HRT_ESRCH);
            cancelled[i] = status == HRT_OK;
            CHECK_EQUAL(hrt_timer_cancel(timers[i]), HRT_ESRCH);
        }
    }
    check_shots(worker, count, cancelled);
    did(worker, count);
}

// Sleeps for ever, until a callback changes that.
static void be_woken(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct shot *shot = &shots[worker->index][0];
    uint32_t *word = &words[worker->index], before = *word;
    hrt_sem_t *sem = &sems[worker->index];
    bool by_word = one_in(dice, 2);
    *shot = (struct shot){.deadline = soon(dice)};
    if (by_word) {
        shot->woken = word;
    } else {
        shot->posted = sem;
    }
    CHECK_EQUAL(hrt_timer_start(any_cpu(dice), shot->deadline, fire, shot, 0, NULL), HRT_OK);
    STEP(worker);
    while (by_word && __atomic_load_n(word, __ATOMIC_ACQUIRE) == before) {
        hrt_wait(word, before, HRT_FOREVER, 0);
    }
    if (!by_word) {
        CHECK_EQUAL(hrt_sem_wait(sem), HRT_OK);
    }
    CHECK_LATE(shot->deadline);
    const bool none[SHOTS] = {false};
    check_shots(worker, 1, none);
    did(worker, 1);
}

void timer_round(struct worker *worker) { one_in(&worker->dice, 2) ? shoot(worker) : be_woken(worker); }

void timer_finish(void) {
    for (uint32_t i = 0; i < WORKERS_MAX; i++) {
        CHECK_EQUAL(hrt_sem_destroy(&sems[i]), HRT_OK);
    }
}

// --- callbacks in a thread of the library's

struct call {
    uint64_t deadline;
    uint32_t called;
    double third;
};

static void use_libc(void *arg) {
    struct call *call = arg;
    char text[32];
    CHECK_LATE(call->deadline);
    snprintf(text, sizeof text, "%.3f", 1.0 / 3);
    call->third = strtod(text, NULL);
    __atomic_fetch_add(&call->called, 1, __ATOMIC_RELEASE);
    hrt_wake(&call->called, 1, HRT_WAKE_KICK);
}

void timer_thread_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    struct call *call = calloc(1, sizeof *call);
    uint64_t timer;
    CHECK(call != NULL);
    call->deadline = soon(dice);
    CHECK_EQUAL(hrt_timer_start(HRT_CPU_ANY, call->deadline, use_libc, call, HRT_TIMER_THREAD, &timer),
                HRT_OK);
    STEP(worker);
    if (one_in(dice, 3) && hrt_timer_cancel(timer) == HRT_OK) {
        CHECK_EQUAL(call->called, 0);
    } else {
        while (__atomic_load_n(&call->called, __ATOMIC_ACQUIRE) == 0) {
            hrt_wait(&call->called, 0, HRT_FOREVER, 0);
        }
        CHECK(call->third == 0.333);
    }
    CHECK_EQUAL(hrt_timer_cancel(timer), HRT_ESRCH);
    free(call);
    did(worker, 1);
}
