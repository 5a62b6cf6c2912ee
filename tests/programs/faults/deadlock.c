// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Two threads that each hold the mutex the other waits for, while the main thread waits for both. Never ends.

#include "../common/check.h"

#include <pthread.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

__attribute__((noinline)) static void *left_then_right(void *argument) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&right);
    __asm__ volatile("");
    return argument;
}

__attribute__((noinline)) static void *right_then_left(void *argument) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both_hold_one);
    pthread_mutex_lock(&left);
    __asm__ volatile("");
    return argument;
}

int main(void) {
    pthread_t threads[2];
    printf("about to deadlock\n");
    fflush(stdout);
    CHECK_EQUAL(pthread_barrier_init(&both_hold_one, NULL, 2), 0);
    CHECK_EQUAL(pthread_create(&threads[0], NULL, left_then_right, NULL), 0);
    CHECK_EQUAL(pthread_create(&threads[1], NULL, right_then_left, NULL), 0);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
