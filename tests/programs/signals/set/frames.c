// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What a handler gets: its stack, the information about the signal, and a way out by a jump.

#define _GNU_SOURCE
#include "set.h"

#include <setjmp.h>
#include <stdint.h>

static char alternate[65536] __attribute__((aligned(16)));
static volatile sig_atomic_t was_on_alternate;

static void look_at_stack(int number) {
    char here;
    stack_t now;
    CHECK_EQUAL(sigaltstack(NULL, &now), 0);
    was_on_alternate = &here >= alternate && &here < alternate + sizeof alternate;
    CHECK_EQUAL((now.ss_flags & SS_ONSTACK) != 0, was_on_alternate);
    // Aligned as after a call: vector stores to the stack would fault otherwise.
    CHECK_EQUAL((uintptr_t)__builtin_frame_address(0) % 16, 0);
    counts[number] = counts[number] + 1;
}

void part_altstack(void) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    stack_t old;
    CHECK_EQUAL(sigaltstack(&stack, &old), 0);
    CHECK(old.ss_flags & SS_DISABLE);
    handle(SIGUSR1, look_at_stack, SA_ONSTACK);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(was_on_alternate, 1);
    handle(SIGUSR1, look_at_stack, 0);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(was_on_alternate, 0);
    stack.ss_size = 100;
    CHECK_ERRNO(sigaltstack(&stack, NULL), ENOMEM);
    stack.ss_flags = SS_DISABLE;
    CHECK_EQUAL(sigaltstack(&stack, NULL), 0);
}

static volatile sig_atomic_t info_code;
static volatile sig_atomic_t info_value;
static volatile sig_atomic_t info_pid_is_mine;

static void take_info(int number, siginfo_t *info, void *context) {
    CHECK_EQUAL(info->si_signo, number);
    CHECK(context != NULL);
    info_code = info->si_code;
    info_value = info->si_value.sival_int;
    info_pid_is_mine = info->si_pid == getpid();
    counts[number] = counts[number] + 1;
}

void part_info(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = take_info;
    action.sa_flags = SA_SIGINFO;
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_EQUAL(kill(getpid(), SIGUSR1), 0);
    CHECK_EQUAL(info_code, SI_USER);
    CHECK_EQUAL(info_pid_is_mine, 1);
    CHECK_EQUAL(raise(SIGUSR1), 0);
    CHECK_EQUAL(info_code, SI_TKILL);
}

void part_realtime(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = take_info;
    action.sa_flags = SA_SIGINFO;
    int number = SIGRTMIN + 2;
    sigset_t set = set_of(number, number);
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, &set, NULL), 0);
    counts[number] = 0;
    for (int i = 0; i < 5; i++) {
        CHECK_EQUAL(raise(number), 0);
    }
    CHECK_EQUAL(counts[number], 0);
    CHECK_EQUAL(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
    // Real-time signals queue.
    CHECK_EQUAL(counts[number], 5);
}

static sigjmp_buf back;

static void jump(int number) { siglongjmp(back, number); }

void part_jump(void) {
    handle(SIGUSR1, jump, 0);
    for (volatile int i = 0; i < 20; i++) {
        int number = sigsetjmp(back, 1);
        if (number == 0) {
            CHECK_EQUAL(raise(SIGUSR1), 0);
            CHECK(0);
        }
        CHECK_EQUAL(number, SIGUSR1);
    }
    sigset_t now;
    CHECK_EQUAL(sigprocmask(SIG_BLOCK, NULL, &now), 0);
    CHECK(!sigismember(&now, SIGUSR1));
}
