// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory of fibers: control blocks that stay for ever, and stacks with a guard page below. A thread keeps
// what its fibers leave; what it leaves itself goes to a pool of the process.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fiber.h"

#define GUARD_BYTES 4096u
#define POOL_STACKS_MAX 1024u
#define BLOCK 64u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct hrt_fiber *with_stack, *without_stack;
static size_t stacks;

// Stacks of one program are mostly of one size: the first one is the right one.
static struct hrt_fiber *remove_with(struct hrt_fiber **list, size_t stack_bytes) {
    for (; *list; list = &(*list)->next_free) {
        struct hrt_fiber *fiber = *list;
        if (fiber->stack_bytes == stack_bytes) {
            *list = fiber->next_free;
            return fiber;
        }
    }
    return NULL;
}

static void push(struct hrt_fiber **list, struct hrt_fiber *fiber) {
    fiber->next_free = *list;
    *list = fiber;
}

static bool grow(void) {
    struct hrt_fiber *block = calloc(BLOCK, sizeof *block);
    for (size_t i = 0; block && i < BLOCK; i++) {
        push(&without_stack, &block[i]);
    }
    return block != NULL;
}

static struct hrt_fiber *from_pool(size_t stack_bytes) {
    pthread_mutex_lock(&lock);
    struct hrt_fiber *fiber = remove_with(&with_stack, stack_bytes);
    if (fiber) {
        stacks--;
    } else if (without_stack || grow()) {
        fiber = without_stack;
        without_stack = fiber->next_free;
    }
    pthread_mutex_unlock(&lock);
    return fiber;
}

static bool map_stack(struct hrt_fiber *fiber, size_t stack_bytes) {
    char *stack = mmap(NULL, stack_bytes + GUARD_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) {
        return false;
    }
    if (mprotect(stack, GUARD_BYTES, PROT_NONE) != 0) {
        munmap(stack, stack_bytes + GUARD_BYTES);
        return false;
    }
    fiber->stack = stack;
    fiber->stack_bytes = stack_bytes;
    return true;
}

static void to_pool(struct hrt_fiber *fiber) {
    if (fiber->stack && stacks == POOL_STACKS_MAX) {
        munmap(fiber->stack, fiber->stack_bytes + GUARD_BYTES);
        fiber->stack = NULL;
        fiber->stack_bytes = 0;
    }
    stacks += fiber->stack ? 1 : 0;
    push(fiber->stack ? &with_stack : &without_stack, fiber);
}

struct hrt_fiber *hrt_fiber_take(struct hrt_fibers *fibers, size_t stack_bytes) {
    struct hrt_fiber *fiber = remove_with(&fibers->cache, stack_bytes);
    if (fiber) {
        return fiber;
    }
    int saved = errno;
    fiber = from_pool(stack_bytes);
    if (fiber && !fiber->stack && !map_stack(fiber, stack_bytes)) {
        pthread_mutex_lock(&lock);
        to_pool(fiber);
        pthread_mutex_unlock(&lock);
        fiber = NULL;
    }
    errno = saved;
    return fiber;
}

void hrt_fiber_give(struct hrt_fibers *fibers, struct hrt_fiber *fiber) {
    fiber->home = NULL;
    fiber->state = FIBER_FREE;
    push(&fibers->cache, fiber);
}

void hrt_fiber_flush(struct hrt_fibers *fibers) {
    pthread_mutex_lock(&lock);
    while (fibers->cache) {
        struct hrt_fiber *fiber = fibers->cache;
        fibers->cache = fiber->next_free;
        to_pool(fiber);
    }
    pthread_mutex_unlock(&lock);
}
