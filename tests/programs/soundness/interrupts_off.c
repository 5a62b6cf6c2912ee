// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// For Hadal only: a thread turns interrupts off, which code in ring 0 can, and spins. The program ends all
// the same.
//
//   interrupts_off            exit_group ends it with status 7
//   interrupts_off forever    only the time limit does

#include "../common/check.h"

#include <pthread.h>

__attribute__((noinline)) static void spin_without_interrupts(int *running) {
    __asm__ volatile("cli");
    __atomic_fetch_add(running, 1, __ATOMIC_RELEASE);
    for (;;) {
        __asm__ volatile("" ::: "memory");
    }
}

static void *spin(void *argument) {
    spin_without_interrupts(argument);
    return NULL;
}

int main(int argc, char **argv) {
    (void)argv;
    int running = 0;
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
