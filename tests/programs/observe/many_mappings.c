/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Maps a file's code over and over, as often as the second argument says, and makes many mappings of one by
 * changing every other page.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096, SPLIT_PAGES = 64 };

static volatile unsigned sink;

__attribute__((noinline)) static void spin(unsigned long count) {
    for (unsigned long i = 0; i < count; i++)
        sink += (unsigned)i;
}

int main(int argc, char **argv) {
    int file = argc > 2 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0) {
        perror("open");
        return 1;
    }
    for (unsigned long count = strtoul(argv[2], NULL, 0); count > 0; count--) {
        /* Places that do not follow each other, so that each mapping stays one. */
        if (mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, (off_t)(count % 2) * PAGE) ==
            MAP_FAILED) {
            perror("mmap");
            return 1;
        }
    }
    char *whole = mmap(NULL, (size_t)SPLIT_PAGES * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    for (int page = 0; whole != MAP_FAILED && page < SPLIT_PAGES; page += 2) {
        int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
        if (mprotect(whole + (size_t)page * PAGE, PAGE, rights) != 0) {
            perror("mprotect");
            return 1;
        }
    }
    spin(100000000);
    puts("done");
    return 0;
}
