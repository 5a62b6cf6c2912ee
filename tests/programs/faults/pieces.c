/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A fault in a program with as many mappings as it can have. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 600000 };

__attribute__((noinline)) static int read_through_null(volatile int *null) { return *null + 1; }

int main(void) {
    char *whole =
        mmap(NULL, (size_t)PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    /* Every other page, until that is refused. */
    for (size_t page = 0; page < PAGES && mprotect(whole + page * PAGE, PAGE, PROT_READ) == 0;)
        page += 2;
    return read_through_null(NULL) + 1;
}
