// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Many detached threads begin and end while timers run. With musl a detached thread unmaps its own stack and
// then makes one more system call; nothing may be written there any more.
//
//   detached [COUNT]     threads to create (default 100000)

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { MOST_AT_ONCE = 32 };

static int ended;
static volatile sig_atomic_t ticks;

static void on_tick(int number) {
    (void)number;
    ticks = ticks + 1;
}

static void *brief(void *argument) {
    volatile char use[2000];
    use[0] = (char)(long)argument;
    use[sizeof use - 1] = use[0];
    __atomic_fetch_add(&ended, 1 + (use[sizeof use - 1] != use[0]), __ATOMIC_RELEASE);
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 100000;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    action.sa_flags = SA_RESTART;
    CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
    struct itimerval every = {{0, 1000}, {0, 1000}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &every, NULL), 0);

    pthread_attr_t attributes;
    CHECK_EQUAL(pthread_attr_init(&attributes), 0);
    CHECK_EQUAL(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED), 0);
    for (int i = 0; i < count; i++) {
        while (i - __atomic_load_n(&ended, __ATOMIC_ACQUIRE) >= MOST_AT_ONCE) {
            sched_yield();
        }
        pthread_t thread;
        int error = pthread_create(&thread, &attributes, brief, (void *)(long)i);
        while (error == EAGAIN) {
            sched_yield();
            error = pthread_create(&thread, &attributes, brief, (void *)(long)i);
        }
        CHECK_EQUAL(error, 0);
    }
    while (__atomic_load_n(&ended, __ATOMIC_ACQUIRE) != count) {
        sched_yield();
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
    CHECK(ticks > 0 || count < 1000);
    printf("%d detached threads ended\n", ended);
    return 0;
}
