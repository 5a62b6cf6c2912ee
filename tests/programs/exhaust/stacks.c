// SPDX-License-Identifier: Apache-2.0 OR MIT
// What threads took is there again when they have ended.
#define _GNU_SOURCE
#include "exhaust.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10, MOST_BLOCKS = 1024, STACK_BYTES = 32 << 10, MOST_THREADS = 400 };
// The kernel's tables of threads stay as large as they were, and the heap keeps pages that are in use in
// part.
enum { LOST_BLOCKS = 12 };

static unsigned word;
static size_t begun;

// Blocks of memory that can be had, and are given back.
static size_t blocks_to_be_had(void) {
    static char *blocks[MOST_BLOCKS];
    size_t count = 0;
    for (; count < MOST_BLOCKS; count++) {
        char *block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block == MAP_FAILED) {
            break;
        }
        blocks[count] = memset(block, 1, BLOCK_BYTES);
    }
    for (size_t at = 0; at < count; at++) {
        munmap(blocks[at], BLOCK_BYTES);
    }
    return count;
}

static void *wait_for_word(void *argument) {
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) {
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    return argument;
}

// So many threads at once as there can be, on stacks that the C library does not keep.
static size_t threads_at_once(void) {
    static pthread_t threads[MOST_THREADS];
    static char *stacks[MOST_THREADS];
    size_t count = 0;
    for (; count < MOST_THREADS; count++) {
        stacks[count] = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stacks[count] == MAP_FAILED) {
            break;
        }
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, stacks[count], STACK_BYTES);
        const int error = pthread_create(&threads[count], &attributes, wait_for_word, NULL);
        pthread_attr_destroy(&attributes);
        if (error != 0) {
            munmap(stacks[count], STACK_BYTES);
            errno = error;
            static const int refusals[] = {EAGAIN, ENOMEM, 0};
            expect_refusal("pthread_create", refusals);
            break;
        }
        while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) <= count) {
            usleep(100);
        }
    }
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
    for (size_t number = 0; number < count; number++) {
        pthread_join(threads[number], NULL);
        munmap(stacks[number], STACK_BYTES);
    }
    return count;
}

size_t use_up_stacks(void) {
    const size_t before = blocks_to_be_had();
    const size_t count = threads_at_once();
    const size_t after = blocks_to_be_had();
    if (after + LOST_BLOCKS < before) {
        printf("stacks: %zu blocks of memory were to be had, and are %zu after %zu threads\n", before, after,
               count);
        exit(1);
    }
    fprintf(stderr, "stacks: %zu blocks before, %zu after\n", before, after);
    return count;
}
