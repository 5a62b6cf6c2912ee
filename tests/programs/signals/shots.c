// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A thread that waits again and again is shot at all the time, by a handler with SA_RESTART: whatever moment
// a signal hits, no wait that is made again ends with EINTR.

#define _GNU_SOURCE
#include "../common/check.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 1000, LONGEST_PAUSE = 3000 };

static atomic_int handled;
static atomic_int over;
static atomic_uint word;
static int there[2];
static int back[2];
static pid_t target;

static void handler(int number) {
    (void)number;
    handled++;
}

static void *echo(void *argument) {
    char byte;
    while (read(there[0], &byte, 1) == 1) {
        word++;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        CHECK_EQUAL(write(back[1], &byte, 1), 1);
    }
    return argument;
}

static void *shoot(void *argument) {
    unsigned state = 1;
    while (!over) {
        CHECK_EQUAL(syscall(SYS_tgkill, getpid(), target, SIGUSR1), 0);
        state = state * 1103515245 + 12345;
        for (volatile unsigned i = 0; i < state / 65536 % LONGEST_PAUSE; i++) {
        }
    }
    return argument;
}

int main(void) {
    struct sigaction how;
    memset(&how, 0, sizeof how);
    how.sa_handler = handler;
    how.sa_flags = SA_RESTART;
    CHECK_EQUAL(sigaction(SIGUSR1, &how, NULL), 0);
    CHECK_EQUAL(pipe(there), 0);
    CHECK_EQUAL(pipe(back), 0);
    target = gettid();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    pthread_t echoing, shooting;
    CHECK_EQUAL(pthread_create(&echoing, NULL, echo, NULL), 0);
    CHECK_EQUAL(pthread_create(&shooting, NULL, shoot, NULL), 0);
    CHECK_EQUAL(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char byte = 'x';
        unsigned before = word;
        CHECK_EQUAL(write(there[1], &byte, 1), 1);
        while (word == before) {
            long result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, before, NULL, NULL, 0);
            CHECK(result == 0 || errno == EAGAIN);
        }
        CHECK_EQUAL(read(back[0], &byte, 1), 1);
    }
    over = 1;
    CHECK_EQUAL(pthread_join(shooting, NULL), 0);
    close(there[1]);
    CHECK_EQUAL(pthread_join(echoing, NULL), 0);
    CHECK(handled > 0);
    printf("no wait was lost\n");
    return 0;
}
