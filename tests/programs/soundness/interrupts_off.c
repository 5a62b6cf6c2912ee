// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// For Hadal only: a thread turns interrupts off, which code in ring 0 can, and spins. The program ends all
// the same.
//
//   interrupts_off            exit_group ends it with status 7
//   interrupts_off forever    only the time limit does

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <sched.h>

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

// On the CPU that takes the interrupts of devices.
static void *spin(void *argument) {
    bind(0);
    spin_without_interrupts(argument);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    int running = 0;
    bind(1);
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, spin, &running), 0);
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) == 0) {
        usleep(1000);
    }
    printf("a thread spins\n");
    fflush(stdout);
    if (argc > 1) {
        pthread_join(thread, NULL);
    }
    _exit(7);
}
