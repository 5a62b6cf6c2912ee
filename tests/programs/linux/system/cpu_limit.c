// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The limit of CPU time (RLIMIT_CPU): what a process gets at the soft and at the hard one, and whose it is.

#define _GNU_SOURCE
#include "set.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t excesses, cause;

static void count(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    excesses++;
    cause = info->si_code;
}

static void limit(rlim_t soft, rlim_t hard) {
    struct rlimit limit = {soft, hard};
    CHECK_EQUAL(setrlimit(RLIMIT_CPU, &limit), 0);
}

static rlim_t soft_limit(void) {
    struct rlimit limit;
    CHECK_EQUAL(getrlimit(RLIMIT_CPU, &limit), 0);
    return limit.rlim_cur;
}

static double cpu_seconds(clockid_t clock) {
    struct timespec time;
    CHECK_EQUAL(clock_gettime(clock, &time), 0);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void spin_until(double seconds) {
    while (cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
    }
}

static void *spin(void *argument) {
    for (;;) {
    }
    return argument;
}

/* A child without a core file and without a handler. */
static pid_t child(void) {
    pid_t child = fork();
    if (child == 0) {
        struct rlimit core = {0, 0};
        CHECK_EQUAL(setrlimit(RLIMIT_CORE, &core), 0);
        CHECK(signal(SIGXCPU, SIG_DFL) != SIG_ERR);
    }
    return child;
}

static int end_of(pid_t child, struct rusage *usage) {
    int status = -1;
    CHECK_EQUAL(wait4(child, &status, 0, usage), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static double used(const struct rusage *usage) {
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

/* At the soft limit, and a second later each time; the limit that is passed moves on. */
static void soft(void) {
    struct sigaction action = {.sa_sigaction = count, .sa_flags = SA_SIGINFO};
    CHECK_EQUAL(sigaction(SIGXCPU, &action, NULL), 0);
    limit(1, RLIM_INFINITY);
    limit(RLIM_INFINITY, RLIM_INFINITY);
    spin_until(1.1);
    CHECK_EQUAL(excesses, 0);
    limit(1ull << 62, RLIM_INFINITY - 1);
    limit(1, RLIM_INFINITY - 1);
    while (excesses == 0) {
    }
    CHECK_EQUAL(cause, SI_KERNEL);
    CHECK_EQUAL(soft_limit(), 2);
    /* A child has the limit, and has not used any of it. */
    pid_t heir = fork();
    if (heir == 0) {
        CHECK_EQUAL(soft_limit(), 2);
        excesses = 0;
        spin_until(.3);
        CHECK_EQUAL(excesses, 0);
        limit(0, 5);
        while (excesses == 0) {
        }
        CHECK_EQUAL(soft_limit(), 1);
        _exit(3);
    }
    CHECK_EQUAL(end_of(heir, NULL), 3);
    _exit(4);
}

/* SIGXCPU, which the child ignores, is not SIGKILL. All threads count, and what ran before another program
 * did. */
static void hard(void) {
    limit(1, 1);
    CHECK(signal(SIGXCPU, SIG_IGN) != SIG_ERR);
    spin_until(.3);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, spin, NULL), 0);
    spin_until(.6);
    execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
}

void part_cpu_limit(void) {
    pid_t one = child();
    if (one == 0) {
        soft();
    }
    CHECK_EQUAL(end_of(one, NULL), 4);
    one = child();
    if (one == 0) {
        hard();
    }
    struct rusage usage;
    CHECK_EQUAL(end_of(one, &usage), -SIGKILL);
    CHECK(used(&usage) > .9 && used(&usage) < 10);
    one = child();
    if (one == 0) {
        limit(0, 4);
        spin(NULL);
    }
    CHECK_EQUAL(end_of(one, NULL), -SIGXCPU);
    /* Another process sets the limit of one that has had more. */
    one = child();
    if (one == 0) {
        limit(5, 9);
        spin(NULL);
    }
    clockid_t clock;
    CHECK_EQUAL(clock_getcpuclockid(one, &clock), 0);
    while (cpu_seconds(clock) < .1) {
        usleep(1000);
    }
    struct rlimit none = {0, 0}, old;
    CHECK_EQUAL(prlimit(one, RLIMIT_CPU, &none, &old), 0);
    CHECK(old.rlim_cur == 5 && old.rlim_max == 9);
    CHECK_EQUAL(end_of(one, NULL), -SIGKILL);
    CHECK_EQUAL(soft_limit(), RLIM_INFINITY);
}
