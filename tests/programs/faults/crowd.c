/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* For a list of threads: some wait at known places for ever, and others make threads that end, all the time.
 */
#define _GNU_SOURCE
#include <hadal/hrt.h>
#include <hadal/hrt/sync.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAKERS = 2 };

static void check(int failed) {
    if (failed) {
        puts("crowd: a call failed");
        exit(1);
    }
}

const struct hrt_calls *hrt_calls;
static uint32_t word;
static int pipe_ends[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *wait_in_futex(void *arg) {
    pthread_mutex_lock(&lock);
    return arg;
}

static void *wait_in_read(void *arg) {
    char byte;
    check(read(pipe_ends[0], &byte, 1) != 1);
    return arg;
}

static void *wait_for_word(void *arg) {
    hrt_wait(&word, 0, HRT_FOREVER, 0);
    return arg;
}

static void *rest_for_word(void *arg) {
    hrt_wait(&word, 0, HRT_FOREVER, HRT_WAIT_NO_INTR);
    return arg;
}

static void *end(void *arg) { return arg; }

static void *make_threads(void *name) {
    for (;;) {
        pthread_t thread;
        check(pthread_create(&thread, NULL, end, NULL));
        pthread_setname_np(thread, name);
        check(pthread_join(thread, NULL));
    }
    return NULL;
}

static void start(void *(*run)(void *), const char *name, void *arg) {
    pthread_t thread;
    check(pthread_create(&thread, NULL, run, arg));
    check(pthread_setname_np(thread, name));
}

int main(void) {
    hrt_calls = (const struct hrt_calls *)getauxval(HRT_AT_HADAL_HRT);
    check(hrt_calls == NULL || pipe(pipe_ends));
    pthread_mutex_lock(&lock);
    start(wait_in_futex, "in-futex", NULL);
    start(wait_in_read, "in-read", NULL);
    start(wait_for_word, "for-word", NULL);
    start(rest_for_word, "rests", NULL);
    char names[MAKERS][2][16];
    for (int i = 0; i < MAKERS; i++) {
        snprintf(names[i][0], sizeof names[i][0], "maker-%d", i);
        snprintf(names[i][1], sizeof names[i][1], "made-by-%d", i);
        start(make_threads, names[i][0], names[i][1]);
    }
    puts("all started");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
