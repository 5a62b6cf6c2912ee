// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The 128 bytes below the stack pointer are the program's. A leaf function keeps data there while a timer
// runs at 10 kHz.
//
//   redzone timer      the timer only wakes another thread of the same processor
//   redzone pending    a blocked signal is pending all the time
//   redzone signal     a handler runs at every tick, on the stack in use
//   redzone altstack   a handler runs at every tick, on an alternate stack

#define _GNU_SOURCE
#include "../common/check.h"
#include "registers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

static volatile sig_atomic_t ticks;
static volatile int stop;
static volatile long wakes;

static void on_tick(int number) {
    // A frame of some size, so that a handler in the wrong place would overwrite the red zone.
    volatile char scratch[512];
    for (size_t i = 0; i < sizeof scratch; i++) {
        scratch[i] = (char)number;
    }
    ticks = ticks + (scratch[7] != 0);
}

static void *wake_at_10_khz(void *argument) {
    (void)argument;
    while (!stop) {
        struct timespec tenth = {0, 100000};
        nanosleep(&tenth, NULL);
        wakes++;
    }
    return NULL;
}

static void start_timer(void) {
    struct itimerval every = {{0, 100}, {0, 100}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &every, NULL), 0);
}

static void stop_timer(void) {
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
}

// Spins for 700 ms in pieces and returns the number of changed words.
static uint64_t spin(void) {
    struct timespec start;
    struct timespec now;
    uint64_t changed = 0;
    uint64_t seed = 0x5a5a000000000000u;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        changed += red_zone_spin(20000, seed);
        seed += 20000;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 700);
    return changed;
}

int main(int argc, char **argv) {
    const char *mode = argc > 1 ? argv[1] : "timer";
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_tick;
    // Everything on one processor, so that each tick meets the loop.
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    CHECK_EQUAL(sched_setaffinity(0, sizeof first, &first), 0);

    uint64_t changed = 0;
    if (strcmp(mode, "timer") == 0) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, wake_at_10_khz, NULL), 0);
        changed = spin();
        stop = 1;
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        CHECK(wakes > 10);
    } else if (strcmp(mode, "pending") == 0) {
        sigset_t alarm_set;
        sigset_t pending;
        sigemptyset(&alarm_set);
        sigaddset(&alarm_set, SIGALRM);
        CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
        CHECK_EQUAL(sigprocmask(SIG_BLOCK, &alarm_set, NULL), 0);
        start_timer();
        changed = spin();
        CHECK_EQUAL(sigpending(&pending), 0);
        CHECK(sigismember(&pending, SIGALRM));
        CHECK_EQUAL(ticks, 0);
        stop_timer();
    } else {
        static char stack[65536];
        if (strcmp(mode, "altstack") == 0) {
            stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
            CHECK_EQUAL(sigaltstack(&alternate, NULL), 0);
            action.sa_flags = SA_ONSTACK;
        }
        CHECK_EQUAL(sigaction(SIGALRM, &action, NULL), 0);
        start_timer();
        changed = spin();
        stop_timer();
        CHECK(ticks > 10);
    }
    CHECK_EQUAL(changed, 0);
    printf("red zone kept (%s)\n", mode);
    return 0;
}
