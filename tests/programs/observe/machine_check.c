/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* System calls, and then what the kernel must take for a broken processor: the vector of machine checks. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
    for (int call = 0; call < 1000; call++) {
        syscall(SYS_getppid);
    }
    __asm__ volatile("int $18");
    puts("still here");
    return 0;
}
