/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Time is spent at the end of call chains that a profiler must follow without frame pointers: through the
 * sort of the C library, through functions that align their stack, through a signal handler, in a thread, in
 * functions that begin and end all the time, in the kernel.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if __has_attribute(noclone)
#define FUNCTION __attribute__((noinline, noclone)) static
#else
#define FUNCTION __attribute__((noinline)) static
#endif
/* Keeps a call at the end of a function from becoming a jump, which would leave no caller. */
#define STAY() __asm__ volatile("")

enum { ITEMS = 64, UNIT = 200000 };

static volatile unsigned sink;
static unsigned long rounds;

FUNCTION void spin(unsigned long count) {
    for (unsigned long i = 0; i < count; i++)
        sink += (unsigned)i;
}

FUNCTION int compare(const void *left, const void *right) {
    int a = *(const int *)left, b = *(const int *)right;
    spin(UNIT / ITEMS);
    return (a > b) - (a < b);
}

FUNCTION void sorted(void) {
    int items[ITEMS];
    for (int i = 0; i < ITEMS; i++)
        items[i] = i * 37 % ITEMS;
    qsort(items, ITEMS, sizeof items[0], compare);
    sink += (unsigned)items[ITEMS / 2];
}

/* The size is not known to the compiler, and the alignment is larger than that of the stack. */
FUNCTION void aligned(unsigned long size) {
    _Alignas(64) volatile char fixed[64];
    volatile char *variable = __builtin_alloca(size);
    fixed[0] = variable[0] = 1;
    spin(UNIT);
    sink += (unsigned)((uintptr_t)fixed % 64) + (unsigned)variable[0];
}

FUNCTION void handler(int signo) {
    spin(UNIT);
    sink += (unsigned)signo;
}

FUNCTION void signaled(void) {
    raise(SIGUSR1);
    STAY();
}

FUNCTION unsigned least(unsigned a, unsigned b) {
    STAY();
    return a < b ? a : b;
}

/* Saves all registers that a function may save. */
FUNCTION unsigned saves(unsigned a) {
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
    return least(a, sink) + 1;
}

FUNCTION void begins_and_ends(void) {
    for (unsigned i = 0; i < UNIT; i++)
        sink = saves(i);
}

FUNCTION void in_the_kernel(void) {
    struct timespec now;
    for (int i = 0; i < UNIT / 20; i++) {
        syscall(SYS_getppid);
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
}

static void *work(void *argument) {
    for (unsigned long round = 0; round < rounds; round++)
        sorted();
    return argument;
}

int main(int argc, char **argv) {
    rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned long round = 0; round < rounds; round++) {
        sorted();
        aligned(100 + (unsigned long)argc);
        signaled();
        begins_and_ends();
        in_the_kernel();
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    puts("done");
    return 0;
}
