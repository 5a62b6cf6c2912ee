// SPDX-License-Identifier: Apache-2.0 OR MIT
// The end of threads, and of the program: it ends when main returns, or when main has called pthread_exit()
// and no other thread is left. libc's own count includes waiting slots, so there is one here.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "thread.h"

// Threads made by pthread_create() that have not ended, and whether main waits for that.
static uint32_t living;
static uint32_t main_waits;

static pthread_key_t key;
static pthread_once_t key_made = PTHREAD_ONCE_INIT;
static int key_error;

// Waits for the others: they may still use what this thread's descriptor holds, and join it.
static _Noreturn void end_main(void) {
    struct hrt_pthread *self = &hrt_local.pthread;
    hrt_pthread_give_up_robust();
    uint32_t joinable = HRT_PTHREAD_JOINABLE;
    if (HRT_CAS(&self->life, &joinable, HRT_PTHREAD_DONE, HRT_RELEASE)) {
        hrt_wake(&self->life, HRT_WAKE_ALL, HRT_WAKE_KICK);
    }
    uint32_t left;
    HRT_STORE(&main_waits, 1, HRT_RELAXED);
    HRT_FENCE(HRT_SEQ_CST);
    while ((left = HRT_LOAD(&living, HRT_ACQUIRE)) != 0) {
        hrt_wait(&living, left, HRT_FOREVER, HRT_WAIT_NO_INTR);
    }
    exit(0);
}

// A value that libc counts the rounds of destructors with: the last round is the end.
static int rounds[PTHREAD_DESTRUCTOR_ITERATIONS];

static void last_destructor(void *value) {
    int *round = value;
    if (round + 1 < rounds + PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, round + 1);
    } else if (hrt_local.pthread.life == HRT_PTHREAD_NONE) {
        hrt_pthread_ended();
    } else {
        end_main();
    }
}

static void make_key(void) { key_error = pthread_key_create(&key, last_destructor); }

int hrt_pthread_end_later(void) {
    pthread_once(&key_made, make_key);
    return key_error != 0 ? key_error : pthread_setspecific(key, rounds);
}

int hrt_pthread_end_main_later(void *result) {
    hrt_local.pthread.result = result;
    return hrt_pthread_end_later();
}

void hrt_pthread_begins(void) { HRT_FETCH_ADD(&living, 1, HRT_RELAXED); }

void hrt_pthread_ended(void) {
    // Main says that it waits before it looks at the number.
    HRT_FETCH_SUB(&living, 1, HRT_SEQ_CST);
    if (HRT_UNLIKELY(HRT_LOAD(&main_waits, HRT_RELAXED) != 0)) {
        hrt_wake(&living, 1, HRT_WAKE_KICK);
    }
}

void hrt_pthread_clean(void) {
    if (__call_tls_dtors) {
        __call_tls_dtors();
    }
    hrt_keys_clean();
    __nptl_deallocate_tsd();
}

__attribute__((constructor)) static void know_main(void) { hrt_local.pthread.life = HRT_PTHREAD_JOINABLE; }
