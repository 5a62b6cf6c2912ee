// SPDX-License-Identifier: Apache-2.0 OR MIT
// Threads until there are no more, doing nothing or waiting in the kernel for one thing.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 3000

static const int REFUSALS[] = {EAGAIN, ENOMEM, 0};

static pthread_t threads[MOST];
static int gate[2];
static unsigned word;
// Threads that have begun, and so have the memory that they need.
static size_t begun;

static void begin(void) { __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE); }

// Makes threads that run `code` until it gets no more; `open` lets them go.
static size_t use_up(void *(*code)(void *), void (*open)(size_t count)) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 32 << 10);
    size_t count = 0;
    begun = 0;
    while (count < MOST) {
        const int error = pthread_create(&threads[count], &attributes, code, NULL);
        if (error != 0) {
            errno = error;
            expect_refusal("pthread_create", REFUSALS);
            break;
        }
        count++;
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) < count) {
            sched_yield();
        }
    }
    open(count);
    for (size_t number = 0; number < count; number++) {
        pthread_join(threads[number], NULL);
    }
    pthread_attr_destroy(&attributes);
    return count;
}

static void *wait_for_word(void *unused) {
    (void)unused;
    begin();
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    return NULL;
}

static void change_word(size_t count) {
    (void)count;
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
}

size_t use_up_futexes(void) {
    word = 0;
    return use_up(wait_for_word, change_word);
}

// Reads until there is an end: an error that means a lack of memory is no reason to stop.
static void *read_gate(void *unused) {
    char byte;
    begin();
    while (read(gate[0], &byte, 1) < 0) {
        usleep(1000);
    }
    return unused;
}

static void close_gate(size_t count) {
    (void)count;
    close(gate[1]);
}

size_t use_up_readers(void) {
    if (pipe(gate) != 0) {
        static const int refusals[] = {ENOMEM, ENFILE, 0};
        expect_refusal("pipe", refusals);
        return 0;
    }
    const size_t count = use_up(read_gate, close_gate);
    close(gate[0]);
    return count;
}

static void *do_nothing(void *argument) {
    begin();
    return argument;
}

static void leave(size_t count) { (void)count; }

size_t use_up_threads(void) { return use_up(do_nothing, leave); }
