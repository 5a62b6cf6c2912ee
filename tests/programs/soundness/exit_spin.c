// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads that spin in program code, without a system call, end when another one calls exit_group.
//
//   exit_spin [COUNT]            COUNT spinning threads, then the end with status 7
//   exit_spin COUNT forever      the main thread spins as well

#include "../common/check.h"
#include "registers.h"

#include <pthread.h>

static void *spin(void *argument) {
    __atomic_fetch_add((int *)argument, 1, __ATOMIC_RELEASE);
    spin_forever();
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 3;
    int running = 0;
    for (int i = 0; i < count; i++) {
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, spin, &running), 0);
    }
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE) != count) {
        usleep(1000);
    }
    printf("%d threads spin\n", count);
    fflush(stdout);
    if (argc > 2) {
        spin_forever();
    }
    _exit(7);
}
