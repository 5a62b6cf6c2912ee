// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// For Hadal only: a thread turns interrupts off, which code in ring 0 can, and spins or halts. The program
// ends all the same.
//
//   interrupts_off spin|halt            exit_group ends it with status 7
//   interrupts_off spin|halt forever    only the time limit does

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

static void bind(size_t cpu) {
    cpu_set_t place;
    CPU_ZERO(&place);
    CPU_SET(cpu, &place);
    CHECK_EQUAL(sched_setaffinity(0, sizeof place, &place), 0);
}

__attribute__((noinline)) static void spin_without_interrupts(int *running) {
    __asm__ volatile("cli");
    __atomic_fetch_add(running, 1, __ATOMIC_RELEASE);
    for (;;) {
        __asm__ volatile("" ::: "memory");
    }
}

// Turns them off again whenever the kernel has turned them on.
__attribute__((noinline)) static void halt_without_interrupts(int *running) {
    __atomic_fetch_add(running, 1, __ATOMIC_RELEASE);
    for (;;) {
        __asm__ volatile("cli; hlt" ::: "memory");
    }
}

static bool halts;

// On the CPU that takes the interrupts of devices.
static void *stay(void *argument) {
    bind(0);
    if (halts) {
        halt_without_interrupts(argument);
    }
    spin_without_interrupts(argument);
    return NULL;
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    halts = strcmp(argv[1], "halt") == 0;
    int running = 0;
    bind(1);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, stay, &running), 0);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) == 0) {
        usleep(1000);
    }
    printf("a thread stays\n");
    fflush(stdout);
    if (argc > 2) {
        pthread_join(thread, NULL);
    }
    _exit(7);
}
