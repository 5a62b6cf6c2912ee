/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* System calls, and then what the kernel must take for a broken processor: the vector of machine checks. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Intel SDM vol. 3, 16.3.1.2. */
enum { MCG_STATUS = 0x17a, IN_PROGRESS = 1 << 2 };

int main(void) {
    for (int call = 0; call < 1000; call++) {
        syscall(SYS_getppid);
    }
    /* Else the vector is an instruction's, and that the program's fault. */
    __asm__ volatile("wrmsr" : : "c"(MCG_STATUS), "a"(IN_PROGRESS), "d"(0));
    __asm__ volatile("int $18");
    puts("still here");
    return 0;
}
