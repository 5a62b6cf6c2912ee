// SPDX-License-Identifier: Apache-2.0 OR MIT
// Thousands of threads, and everything that concerns all of them at once: for the longest section with
// interrupts off.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../common/check.h"

enum { TIMERS = 1000 };

static atomic_int gate, second_gate, ready, done, alarms;
static int crowd;

static long futex(atomic_int *word, int operation, int value, long second, atomic_int *other, int third) {
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, second, other, third);
}

// Odd threads are less urgent, so that a queue of waiters has two parts.
static void *wait_at_gates(void *number) {
    if ((long)number % 2 != 0)
        setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 10);
    ready++;
    while (gate == 0)
        futex(&gate, FUTEX_WAIT, 0, 0, NULL, 0);
    while (second_gate == 0)
        futex(&second_gate, FUTEX_WAIT, 0, 0, NULL, 0);
    done++;
    return NULL;
}

static void *sleep_for_good(void *number) {
    ready++;
    for (;;)
        pause();
    return number;
}

static void count_alarm(int number) {
    (void)number;
    alarms++;
}

static void start(pthread_t *threads, void *(*body)(void *)) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    ready = 0;
    for (long i = 0; i < crowd; i++)
        CHECK(pthread_create(&threads[i], &small, body, (void *)i) == 0);
    while (ready < crowd)
        usleep(1000);
    usleep(10000);
}

// Everybody moves from one word to another, back, and on.
static void move_all(void) {
    static atomic_int elsewhere;
    CHECK(futex(&gate, FUTEX_CMP_REQUEUE, 0, INT_MAX, &elsewhere, 0) == crowd);
    CHECK(futex(&elsewhere, FUTEX_REQUEUE, 0, INT_MAX, &gate, 0) == crowd);
    CHECK(futex(&gate, FUTEX_CMP_REQUEUE, 3, INT_MAX, &elsewhere, 0) >= crowd - 3);
    CHECK(futex(&elsewhere, FUTEX_WAKE, INT_MAX, 0, NULL, 0) >= crowd - 3);
    usleep(100000);
}

static void wake_all(atomic_int *word) {
    *word = 1;
    futex(word, FUTEX_WAKE, INT_MAX, 0, NULL, 0);
}

// Timers of CPU time look at the time of the process again and again.
static void measure_cpu_time(void) {
    signal(SIGPROF, count_alarm);
    struct itimerval often = {{0, 1000}, {0, 1000}};
    CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0);
    while (alarms < 5)
        ;
    CHECK(setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL) == 0);
    struct timespec time;
    struct rusage usage;
    CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0);
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
}

static void expire_together(void) {
    static timer_t timers[TIMERS];
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    signal(SIGRTMIN, count_alarm);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    alarms = 0;
    for (int i = 0; i < TIMERS; i++) {
        CHECK(timer_create(CLOCK_MONOTONIC, &event, &timers[i]) == 0);
        struct itimerspec at = {.it_value = {now.tv_sec + 1, 0}};
        CHECK(timer_settime(timers[i], TIMER_ABSTIME, &at, NULL) == 0);
    }
    while (alarms < TIMERS)
        usleep(10000);
    for (int i = 0; i < TIMERS; i++)
        CHECK(timer_delete(timers[i]) == 0);
}

static void list_all(void) {
    DIR *tasks = opendir("/proc/self/task");
    CHECK(tasks != NULL);
    int count = 0;
    for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks))
        count += entry->d_name[0] != '.';
    CHECK(count == crowd + 1);
    closedir(tasks);
    char line[256];
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(i == 0 ? "/proc/self/stat" : "/proc/self/status", "r");
        CHECK(file != NULL);
        while (fgets(line, sizeof line, file) != NULL)
            ;
        fclose(file);
    }
}

static void *wait_until(void *deadline) {
    ready++;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, deadline, NULL);
    done++;
    return NULL;
}

int main(int count, char **arguments) {
    crowd = count > 1 ? atoi(arguments[1]) : 2000;
    pthread_t *threads = malloc((size_t)crowd * sizeof *threads);
    CHECK(threads != NULL);

    start(threads, wait_at_gates);
    list_all();
    move_all();
    measure_cpu_time();
    wake_all(&gate);
    usleep(100000);
    wake_all(&second_gate);
    for (int i = 0; i < crowd; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(done == crowd);

    // All time-outs at once.
    static struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += 3;
    done = 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    for (int i = 0; i < crowd; i++)
        CHECK(pthread_create(&threads[i], &small, wait_until, &deadline) == 0);
    for (int i = 0; i < crowd; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(done == crowd);

    expire_together();
    start(threads, sleep_for_good);
    puts("a crowd came and went");
    exit(0);
}
