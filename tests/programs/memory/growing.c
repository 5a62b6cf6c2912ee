// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory that is touched here and there, by several threads at once, while others change parts of it: what
// was written stays, and the rest is zero.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, BLOCK = 2 << 20, PAGES = BLOCK / PAGE, BLOCKS = 8, THREADS = 4, ROUNDS = 6 };

static char *map(size_t bytes) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* --- touches from all sides ----------------------------------------------------------------------------- */

static char *shared;
static pthread_barrier_t barrier;

/* Each thread writes its own byte of every page, all in nearly the same order. */
static void *touch_all(void *argument) {
    size_t thread = (size_t)argument;
    pthread_barrier_wait(&barrier);
    for (size_t step = 0; step < (size_t)BLOCKS * PAGES; step++) {
        size_t page = step / PAGES * PAGES + (step * 37 + thread / 2) % PAGES;
        char *byte = shared + page * PAGE + thread * 64;
        CHECK(*byte == 0);
        *byte = (char)(thread + 1);
    }
    return NULL;
}

static void check_all(void) {
    for (size_t page = 0; page < (size_t)BLOCKS * PAGES; page++) {
        for (size_t thread = 0; thread < THREADS; thread++) {
            CHECK(shared[page * PAGE + thread * 64] == (char)(thread + 1));
        }
        CHECK(shared[page * PAGE + PAGE - 1] == 0);
    }
}

/* --- changes of parts, while other blocks grow ---------------------------------------------------------- */

static void *touch_mine(void *argument) {
    unsigned seed = (unsigned)(size_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        char *memory = map(2 * (size_t)BLOCK);
        unsigned char expected[2 * PAGES] = {0};
        for (int touch = 0; touch < 200; touch++) {
            size_t page = (size_t)rand_r(&seed) % (2 * PAGES);
            CHECK((unsigned char)memory[page * PAGE + 7] == expected[page]);
            memory[page * PAGE + 7] = (char)(expected[page] = (unsigned char)(touch + 1));
            size_t first = (size_t)rand_r(&seed) % (2 * PAGES - 8);
            switch (touch % 40) {
            case 3:
                CHECK(mprotect(memory + first * PAGE, 8 * PAGE, PROT_READ) == 0);
                CHECK(mprotect(memory + first * PAGE, 8 * PAGE, PROT_READ | PROT_WRITE) == 0);
                break;
            case 13:
                CHECK(madvise(memory + first * PAGE, 8 * PAGE, MADV_DONTNEED) == 0);
                memset(expected + first, 0, 8);
                break;
            case 23: {
                char *at = memory + first * PAGE;
                CHECK(munmap(at, 8 * PAGE) == 0);
                char *again = mmap(at, 8 * PAGE, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                CHECK(again == at);
                memset(expected + first, 0, 8);
                break;
            }
            case 33:
                CHECK(mlock(memory + first * PAGE, 8 * PAGE) == 0);
                CHECK(munlock(memory + first * PAGE, 8 * PAGE) == 0);
                break;
            }
        }
        for (size_t page = 0; page < 2 * PAGES; page++) {
            CHECK((unsigned char)memory[page * PAGE + 7] == expected[page] && memory[page * PAGE + 8] == 0);
        }
        CHECK(munmap(memory, 2 * (size_t)BLOCK) == 0);
    }
    return NULL;
}

/* A vector that grows, of which only the ends are in use. */
static void move_barely_touched(void) {
    size_t bytes = BLOCK;
    char *memory = map(bytes);
    memory[5 * PAGE] = 1;
    for (int doubling = 0; doubling < 6; doubling++) {
        char *in_the_way = mmap(memory + bytes, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memory = mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
        CHECK(memory != MAP_FAILED && memory[5 * PAGE] == 1 && memory[6 * PAGE] == 0);
        CHECK(memory[bytes] == 0);
        memory[bytes] = 2;
        bytes *= 2;
        munmap(in_the_way, PAGE);
    }
    for (size_t at = BLOCK; at < bytes; at *= 2) {
        CHECK(memory[at] == 2 && memory[at + PAGE] == 0);
    }
    munmap(memory, bytes);
}

static void run(void *(*main)(void *)) {
    pthread_t threads[THREADS];
    for (size_t thread = 0; thread < THREADS; thread++) {
        CHECK(pthread_create(&threads[thread], NULL, main, (void *)thread) == 0);
    }
    for (size_t thread = 0; thread < THREADS; thread++) {
        CHECK(pthread_join(threads[thread], NULL) == 0);
    }
}

int main(void) {
    CHECK(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        shared = map((size_t)BLOCKS * BLOCK);
        run(touch_all);
        check_all();
        CHECK(munmap(shared, (size_t)BLOCKS * BLOCK) == 0);
    }
    puts("all touches were kept");
    run(touch_mine);
    puts("so were those beside changes");
    move_barely_touched();
    puts("and those of what moved");
    return 0;
}
