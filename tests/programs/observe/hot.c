/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Two functions, one of which runs three times as long as the other, and a system call as often as the
 * argument says. The loops are in one function, so that they cost the same whatever runs them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { UNIT = 4000000 };

static volatile unsigned sink;

__attribute__((noinline)) static void spin(unsigned long count) {
    for (unsigned long i = 0; i < count; i++)
        sink += (unsigned)i;
}

/* The empty statement keeps each call from becoming a jump, which would leave no frame. */
__attribute__((noinline)) static void hot_long(unsigned long units) {
    spin(3 * units * UNIT);
    __asm__ volatile("");
}

__attribute__((noinline)) static void hot_short(unsigned long units) {
    spin(units * UNIT);
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;
    for (unsigned long round = 0; round < rounds; round++) {
        hot_long(1);
        hot_short(1);
    }
    for (unsigned long call = 0; call < calls; call++)
        syscall(SYS_getppid);
    puts("done");
    return 0;
}
