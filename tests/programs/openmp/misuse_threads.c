// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// OpenMP in threads that the program starts and ends by the hundred, before main and after it.

#include "../common/check.h"

#include <omp.h>
#include <pthread.h>

static int team(int threads) {
    int count = 0;
#pragma omp parallel num_threads(threads) reduction(+ : count)
    count++;
    return count;
}

static int early;
__attribute__((constructor)) static void before_main(void) { early = team(3); }
__attribute__((destructor)) static void after_main(void) {
    if (team(3) != 3) {
        _exit(97);
    }
}
static void at_exit(void) { CHECK_EQUAL(team(3), 3); }

static void *one(void *argument) {
    *(int *)argument = team(2);
    return NULL;
}
static void in_turn(void) {
    for (int turn = 0; turn < 300; turn++) {
        pthread_t thread;
        int count = 0;
        CHECK_EQUAL(pthread_create(&thread, NULL, one, &count), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        CHECK_EQUAL(count, 2);
    }
}
enum { TOGETHER = 50 };
static void at_once(void) {
    for (int turn = 0; turn < 5; turn++) {
        pthread_t threads[TOGETHER];
        int counts[TOGETHER] = {0};
        for (int index = 0; index < TOGETHER; index++) {
            CHECK_EQUAL(pthread_create(&threads[index], NULL, one, &counts[index]), 0);
        }
        for (int index = 0; index < TOGETHER; index++) {
            CHECK_EQUAL(pthread_join(threads[index], NULL), 0);
            CHECK_EQUAL(counts[index], 2);
        }
    }
}
static void constructors(void) {
    CHECK_EQUAL(early, 3);
    atexit(at_exit);
}
// A key's destructor uses OpenMP when OpenMP has already forgotten the thread, or is about to.
static pthread_key_t key;
static int late;
static void on_end(void *value) {
    (void)value;
    int count = team(2);
#pragma omp atomic
    late += count;
}
static void *with_key(void *argument) {
    pthread_setspecific(key, argument);
    *(int *)argument = team(2);
    return NULL;
}
static void keys(void) {
    CHECK_EQUAL(pthread_key_create(&key, on_end), 0);
    for (int turn = 0; turn < 200; turn++) {
        pthread_t thread;
        int count = 0;
        CHECK_EQUAL(pthread_create(&thread, NULL, with_key, &count), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
    }
    CHECK_EQUAL(late, 400);
}
static const struct part parts[] = {
    {"constructors", constructors}, {"in_turn", in_turn}, {"at_once", at_once}, {"keys", keys}};

int main(int argc, char **argv) { return run_parts(parts, sizeof parts / sizeof *parts, argc, argv); }
