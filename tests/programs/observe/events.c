/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Something of everything that a trace shows: threads that are made, named and ended, waits with and without
 * time-out, system calls, page faults, signals.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 10, CALLS = 25, PAGES = 64 };

static pthread_barrier_t barrier;
static atomic_int handled;

static void on_signal(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void *work(void *argument) {
    char name[16];
    snprintf(name, sizeof name, "worker %ld", (long)argument);
    pthread_setname_np(pthread_self(), name);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (int call = 0; call < CALLS; call++)
            syscall(SYS_getppid);
        usleep(500);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    signal(SIGUSR1, on_signal);
    for (long index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], NULL, work, (void *)index) != 0)
            return 1;
    char *pages = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    memset(pages, 1, PAGES * 4096);
    raise(SIGUSR1);
    for (int index = 0; index < THREADS; index++)
        pthread_join(threads[index], NULL);
    printf("%d handled\n", atomic_load(&handled));
    return 0;
}
