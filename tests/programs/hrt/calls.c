/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The way into the kernel and back: every register that a C function keeps, waiting, signals. */
#include "../common/check.h"
#include "places.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

static volatile sig_atomic_t handled;

static void on_signal(int number) { handled = number; }

/* Values in all the registers that calls keep, over many calls with switches and interrupts in between. */
static void keeps_registers(void) {
    for (int round = 0; round < 20000; round++) {
        uint64_t changed;
        __asm__ volatile(
            "push %%rbx\n\tpush %%rbp\n\tpush %%r12\n\tpush %%r13\n\tpush %%r14\n\tpush %%r15\n\t"
            "mov %%rsp, %%r15\n\tand $-16, %%rsp\n\tpush %%r15\n\tpush %%r15\n\t"
            "mov $0x1111, %%ebx\n\tmov $0x2222, %%ebp\n\tmov $0x3333, %%r12d\n\t"
            "mov $0x4444, %%r13d\n\tmov $0x5555, %%r14d\n\t"
            "call *%%rax\n\t"
            "xor $0x1111, %%rbx\n\txor $0x2222, %%rbp\n\txor $0x3333, %%r12\n\t"
            "xor $0x4444, %%r13\n\txor $0x5555, %%r14\n\t"
            "sub 8(%%rsp), %%r15\n\tmov %%r15, %%rax\n\tor %%rbx, %%rax\n\tor %%rbp, %%rax\n\t"
            "or %%r12, %%rax\n\tor %%r13, %%rax\n\tor %%r14, %%rax\n\t"
            "mov (%%rsp), %%rsp\n\t"
            "pop %%r15\n\tpop %%r14\n\tpop %%r13\n\tpop %%r12\n\tpop %%rbp\n\tpop %%rbx"
            : "=a"(changed)
            : "a"(hrt_calls->thread_yield_full)
            : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
        CHECK(changed == 0);
    }
}

static void *competitor(void *arg) {
    (void)arg;
    keeps_registers();
    return NULL;
}

/* A spinning thread is reached by signals at every instruction of a call. */
static void *spinner(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        hrt_calls->now_ns();
    }
    return NULL;
}

int main(void) {
    uint64_t before = hrt_calls->now_ns();
    CHECK(hrt_calls->now_ns() >= before);
    CHECK(hrt_calls->cpu_count() == (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) &&
          hrt_calls->cpu_self() < hrt_calls->cpu_count());

    /* A sleep in a call ends in time, and early when a signal's handler has run. */
    CHECK(hrt_calls->thread_sleep_until(before + 3000000) == HRT_OK &&
          hrt_calls->now_ns() >= before + 3000000);
    signal(SIGALRM, on_signal);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    /* Again and again: the first may come before the wait. */
    struct itimerspec when = {.it_value = {.tv_nsec = 2000000}, .it_interval = {.tv_nsec = 2000000}};
    timer_t timer;
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &when, NULL) == 0);
    CHECK(hrt_calls->thread_sleep_until(HRT_FOREVER) == HRT_EINTR && handled == SIGALRM);
    CHECK(timer_delete(timer) == 0);

    pthread_t other;
    pthread_create(&other, NULL, competitor, NULL);
    keeps_registers();
    pthread_join(other, NULL);

    int stop = 0;
    pthread_create(&other, NULL, spinner, &stop);
    int rounds = has(OWN_CPUS) ? 2000 : 20;
    for (int round = 0; round < rounds; round++) {
        handled = 0;
        pthread_kill(other, SIGALRM);
        while (handled == 0) {
            sched_yield();
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    puts("calls work");
    return 0;
}
