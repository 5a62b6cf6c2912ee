// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory that other CPUs may have filled with zeros while this one slept: it is all zero, again and again,
// though it was written to each time before it went back.

#include "../common/check.h"

#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

enum { BLOCK = 2 << 20, BLOCKS = 12, ROUNDS = 20 };

int main(void) {
    for (int round = 0; round < ROUNDS; round++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        uint64_t *memory =
            mmap(NULL, (size_t)BLOCKS * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        for (size_t word = 0; word < (size_t)BLOCKS * BLOCK / sizeof *memory; word++) {
            CHECK_EQUAL(memory[word], 0);
            memory[word] = word + 1;
        }
        CHECK_EQUAL(munmap(memory, (size_t)BLOCKS * BLOCK), 0);
    }
    printf("all of it was zero\n");
    return 0;
}
