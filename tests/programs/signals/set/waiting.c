// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Waiting for signals, timers, interrupted and restarted calls, and the threads that take a signal.

#define _GNU_SOURCE
#include "set.h"

#include <pthread.h>
#include <sys/time.h>
#include <time.h>

void part_wait(void) {
    sigset_t set = set_of(SIGUSR1, SIGTERM);
    sigset_t old;
    siginfo_t info;
    int number = 0;
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
    CHECK_EQUAL(kill(getpid(), SIGTERM), 0);
    CHECK_EQUAL(sigwait(&set, &number), 0);
    CHECK_EQUAL(number, SIGTERM);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(sigwaitinfo(&set, &info), SIGUSR1);
    CHECK_EQUAL(info.si_signo, SIGUSR1);
    struct timespec moment = {0, 20000000};
    CHECK_ERRNO(sigtimedwait(&set, &info, &moment), EAGAIN);

    // A signal that comes while the thread waits.
    struct itimerval soon = {{0, 0}, {0, 20000}};
    sigset_t alarm_set = set_of(SIGALRM, SIGALRM);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &alarm_set, NULL), 0);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_EQUAL(sigwait(&alarm_set, &number), 0);
    CHECK_EQUAL(number, SIGALRM);

    // sigsuspend waits with another mask.
    handle(SIGALRM, count, 0);
    counts[SIGALRM] = 0;
    sigset_t none;
    sigemptyset(&none);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_ERRNO(sigsuspend(&none), EINTR);
    CHECK_EQUAL(counts[SIGALRM], 1);
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &old, NULL), 0);
}

void part_alarm(void) {
    handle(SIGALRM, count, 0);
    counts[SIGALRM] = 0;
    CHECK_EQUAL(alarm(100), 0);
    CHECK(alarm(1) >= 99);
    CHECK_ERRNO(pause(), EINTR);
    CHECK_EQUAL(counts[SIGALRM], 1);

    struct itimerval every = {{0, 5000}, {0, 5000}};
    struct itimerval never = {{0, 0}, {0, 0}};
    struct itimerval left;
    CHECK_EQUAL(setitimer(ITIMER_REAL, &every, NULL), 0);
    while (counts[SIGALRM] < 10) {
        // Spins in program code: the handler comes from a timer interrupt.
    }
    CHECK_EQUAL(getitimer(ITIMER_REAL, &left), 0);
    CHECK(left.it_interval.tv_usec == 5000);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);

    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR2;
    handle(SIGUSR2, count, 0);
    counts[SIGUSR2] = 0;
    CHECK_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    struct itimerspec often = {{0, 3000000}, {0, 3000000}};
    CHECK_EQUAL(timer_settime(timer, 0, &often, NULL), 0);
    while (counts[SIGUSR2] < 5) {
        pause();
    }
    CHECK_EQUAL(timer_delete(timer), 0);
    CHECK(timer_delete(timer) != 0);

    // What a blocked signal has missed is counted, whether signals of its kind queue or not.
    for (int number = SIGUSR2; number != 0; number = number == SIGUSR2 ? SIGRTMIN : 0) {
        sigset_t blocked = set_of(number, number);
        siginfo_t info;
        CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
        event.sigev_signo = number;
        CHECK_EQUAL(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
        CHECK_EQUAL(timer_getoverrun(timer), 0);
        CHECK_EQUAL(timer_settime(timer, 0, &often, NULL), 0);
        struct timespec pause_time = {0, 50000000};
        nanosleep(&pause_time, NULL);
        CHECK_EQUAL(sigwaitinfo(&blocked, &info), number);
        CHECK_EQUAL(info.si_code, SI_TIMER);
        CHECK(info.si_overrun >= 10);
        CHECK_EQUAL(timer_getoverrun(timer), info.si_overrun);
        struct itimerspec off = {{0, 0}, {0, 0}};
        CHECK_EQUAL(timer_settime(timer, 0, &off, NULL), 0);
        CHECK_EQUAL(timer_getoverrun(timer), 0);
        CHECK_EQUAL(timer_delete(timer), 0);
        // What was sent last may be there still.
        struct timespec no_time = {0, 0};
        sigtimedwait(&blocked, &info, &no_time);
        CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &blocked, NULL), 0);
    }
}

void part_restart(void) {
    int ends[2];
    char byte = 0;
    CHECK_EQUAL(pipe(ends), 0);
    struct itimerval soon = {{0, 0}, {0, 20000}};

    // Without SA_RESTART the read ends with EINTR.
    handle(SIGALRM, count, 0);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_ERRNO(read(ends[0], &byte, 1), EINTR);

    // A sleep is interrupted and tells the rest.
    struct timespec wanted = {50, 0};
    struct timespec rest = {0, 0};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_ERRNO(nanosleep(&wanted, &rest), EINTR);
    CHECK(rest.tv_sec >= 40 && rest.tv_sec < 50);
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_EQUAL(clock_nanosleep(CLOCK_MONOTONIC, 0, &wanted, &rest), EINTR);
    close(ends[0]);
    close(ends[1]);
}

static int restart_pipe[2];

static void *write_later(void *argument) {
    (void)argument;
    sigset_t all;
    sigfillset(&all);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
    usleep(120000);
    CHECK_EQUAL(write(restart_pipe[1], "r", 1), 1);
    return NULL;
}

void part_restarted(void) {
    pthread_t thread;
    char byte = 0;
    CHECK_EQUAL(pipe(restart_pipe), 0);
    CHECK_EQUAL(pthread_create(&thread, NULL, write_later, NULL), 0);
    handle(SIGALRM, count, SA_RESTART);
    counts[SIGALRM] = 0;
    struct itimerval soon = {{0, 0}, {0, 20000}};
    CHECK_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
    CHECK_EQUAL(read(restart_pipe[0], &byte, 1), 1);
    CHECK_EQUAL(byte, 'r');
    CHECK_EQUAL(counts[SIGALRM], 1);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    close(restart_pipe[0]);
    close(restart_pipe[1]);
}

static pthread_t handler_thread;
static volatile sig_atomic_t handled_there;

static void note_thread(int number) {
    handled_there = pthread_equal(pthread_self(), handler_thread) != 0;
    counts[number] = counts[number] + 1;
}

static volatile int phase;

static void *spin_until_handled(void *argument) {
    (void)argument;
    phase = 1;
    while (counts[SIGUSR1] == 0) {
    }
    return NULL;
}

static void *spin_until_profiled(void *argument) {
    struct itimerval soon = {{0, 0}, {0, 20000}};
    CHECK_EQUAL(setitimer(ITIMER_PROF, &soon, NULL), 0);
    while (counts[SIGPROF] == 0) {
    }
    return argument;
}

void part_threads(void) {
    handle(SIGUSR1, note_thread, 0);
    counts[SIGUSR1] = 0;
    CHECK_EQUAL(pthread_create(&handler_thread, NULL, spin_until_handled, NULL), 0);
    while (phase != 1) {
        usleep(1000);
    }
    CHECK_EQUAL(pthread_kill(handler_thread, SIGUSR1), 0);
    CHECK_EQUAL(pthread_join(handler_thread, NULL), 0);
    CHECK_EQUAL(counts[SIGUSR1], 1);
    CHECK_EQUAL(handled_there, 1);

    // A signal to the process goes to the thread that does not block it.
    sigset_t set = set_of(SIGUSR1, SIGUSR1);
    counts[SIGUSR1] = 0;
    handled_there = 0;
    phase = 0;
    CHECK_EQUAL(pthread_create(&handler_thread, NULL, spin_until_handled, NULL), 0);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    while (phase != 1) {
        usleep(1000);
    }
    CHECK_EQUAL(kill(getpid(), SIGUSR1), 0);
    CHECK_EQUAL(pthread_join(handler_thread, NULL), 0);
    CHECK_EQUAL(handled_there, 1);
    CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);

    // One for CPU time goes to the thread that uses it.
    handle(SIGPROF, note_thread, 0);
    counts[SIGPROF] = 0;
    handled_there = 0;
    CHECK_EQUAL(pthread_create(&handler_thread, NULL, spin_until_profiled, NULL), 0);
    CHECK_EQUAL(pthread_join(handler_thread, NULL), 0);
    CHECK_EQUAL(handled_there, 1);
}
