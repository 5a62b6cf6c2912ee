// SPDX-License-Identifier: Apache-2.0 OR MIT
// Forks, into threads and into fibers: frames of several kinds and sizes. Built at every optimisation level.
#include "parts.h"

#define NOINLINE __attribute__((noinline))

// What forks: the caller's choice of thread or fiber.
union child {
    hrt_thread_t thread;
    hrt_fiber_t *fiber;
};

static long end_of(union child child, bool fiber) {
    void *result = NULL;
    if (!fiber) {
        return joined(child.thread);
    }
    CHECK_EQUAL(hrt_fiber_join(child.fiber, &result), HRT_OK);
    return (long)result;
}

#define FORK(child, fiber)                                                                                   \
    ((fiber) ? hrt_fiber_fork(&(child)->fiber) : hrt_thread_fork(NULL, &(child)->thread))

static NOINLINE long plain(union child *child, bool fiber, long value) {
    volatile long local = value;
    char text[64];
    memset(text, (int)value, sizeof text);
    int status = FORK(child, fiber);
    if (status == HRT_FORK_CHILD) {
        for (int i = 0; i < 10; i++) {
            local = local + 1;
            CHECK_EQUAL(text[i], (char)value);
            fiber ? (void)hrt_fiber_yield() : hrt_thread_yield();
        }
        return local;
    }
    CHECK_EQUAL(status, HRT_OK);
    CHECK_EQUAL(local, value);
    return -1;
}

// More values than there are registers, over the fork.
static NOINLINE long busy(union child *child, bool fiber, const volatile long *from) {
    long a = from[0], b = from[1], c = from[2], d = from[3], e = from[4], f = from[5], g = from[6],
         h = from[7];
    int status = FORK(child, fiber);
    long sum = a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
    CHECK_EQUAL(sum, 204);
    return status == HRT_FORK_CHILD ? sum : status;
}

// Locals that need more than the usual alignment: gcc reaches its return address in another way then.
static NOINLINE long aligned(union child *child, bool fiber, long value) {
    _Alignas(64) volatile long local[8] = {value, value + 1};
    int status = FORK(child, fiber);
    CHECK_EQUAL((uintptr_t)local % 64, 0);
    CHECK_EQUAL(local[0], value);
    local[1] = local[1] + (status == HRT_FORK_CHILD);
    return status == HRT_FORK_CHILD ? local[1] : status;
}

static NOINLINE long large(union child *child, bool fiber, int value) {
    int local[2000];
    for (int i = 0; i < 2000; i++) {
        local[i] = value + i;
    }
    __asm__ volatile("" : : "r"(local) : "memory");
    int status = FORK(child, fiber);
    for (int i = 0; i < 2000; i++) {
        CHECK_EQUAL(local[i], value + i);
        local[i] = 0;
    }
    __asm__ volatile("" : : "r"(local) : "memory");
    return status == HRT_FORK_CHILD ? value : status;
}

static NOINLINE int too_large(union child *child, bool fiber) {
    char local[400000];
    memset(local, 1, sizeof local);
    __asm__ volatile("" : : "r"(local) : "memory");
    int status = FORK(child, fiber);
    __asm__ volatile("" : : "r"(local) : "memory");
    return status;
}

static NOINLINE long exits(union child *child, bool fiber) {
    int status = FORK(child, fiber);
    if (status == HRT_FORK_CHILD) {
        fiber ? hrt_fiber_exit(number(9)) : hrt_thread_exit(number(9));
    }
    return status;
}

static NOINLINE long family(int depth) {
    hrt_thread_t left, right;
    if (depth == 0) {
        return 1;
    }
    if (hrt_thread_fork(NULL, &left) == HRT_FORK_CHILD || hrt_thread_fork(NULL, &right) == HRT_FORK_CHILD) {
        return family(depth - 1);
    }
    long sum = joined(left);
    return sum + joined(right);
}

static void fork_all(bool fiber) {
    static const volatile long values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    union child child;
    for (int round = 0; round < 5; round++) {
        CHECK_EQUAL(plain(&child, fiber, 10 + round), -1);
        CHECK_EQUAL(end_of(child, fiber), 20 + round);
        CHECK_EQUAL(busy(&child, fiber, values), HRT_OK);
        CHECK_EQUAL(end_of(child, fiber), 204);
        CHECK_EQUAL(aligned(&child, fiber, 30), HRT_OK);
        CHECK_EQUAL(end_of(child, fiber), 32);
        CHECK_EQUAL(large(&child, fiber, 40), HRT_OK);
        CHECK_EQUAL(end_of(child, fiber), 40);
        CHECK_EQUAL(exits(&child, fiber), HRT_OK);
        CHECK_EQUAL(end_of(child, fiber), 9);
    }
    CHECK_EQUAL(too_large(&child, fiber), HRT_EINVAL);
}

// Nothing comes after the fork: compilers would like to jump there.
static NOINLINE int forks_last(hrt_thread_t *child) { return hrt_thread_fork(NULL, child); }
static NOINLINE void forks_for_nothing(void) { hrt_thread_fork(NULL, NULL); }

static NOINLINE int bad_attr(hrt_thread_t *child) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.cpu = 1 << 20;
    return hrt_thread_fork(&attr, child);
}

static NOINLINE long bare(hrt_thread_t *child, long value) {
    struct hrt_thread_attr attr;
    hrt_thread_attr_init(&attr);
    attr.flags = HRT_THREAD_BARE;
    attr.stack_bytes = 2 * HRT_STACK_MIN;
    int status = hrt_thread_fork(&attr, child);
    return status == HRT_FORK_CHILD ? value * 2 : status;
}

// Forks with a frame pointer so far above the stack pointer.
int fork_above(long bytes, hrt_thread_t *child);
__asm__(".pushsection .text\n"
        "fork_above:\n\t"
        "push %rbp\n\t"
        "lea (%rsp, %rdi), %rbp\n\t"
        "mov %rbp, %rdx\n\t"
        "xor %edi, %edi\n\t"
        "call hrt_fork_frame@PLT\n\t"
        "pop %rbp\n\t"
        "ret\n\t"
        ".popsection");

static void bad_frames(hrt_thread_t *child) {
    const long above[] = {4, -8, -64, 1L << 30};
    for (size_t i = 0; i < sizeof above / sizeof *above; i++) {
        CHECK_EQUAL(fork_above(above[i], child), HRT_EINVAL);
    }
    CHECK_EQUAL(hrt_fork_frame(NULL, child, (void *)16), HRT_EINVAL);
}

void forks(void) {
    hrt_thread_t child;
    fork_all(false);
    CHECK_EQUAL(family(5), 32);
    CHECK_EQUAL(bad_attr(&child), HRT_EINVAL);
    CHECK_EQUAL(forks_last(&child), HRT_OK);
    CHECK_EQUAL((int)joined(child), HRT_FORK_CHILD);
    forks_for_nothing();
    CHECK_EQUAL(bare(&child, 8), HRT_OK);
    CHECK_EQUAL(joined(child), 16);
    bad_frames(&child);
    // Joined with the others that this thread has forked.
    union child other;
    plain(&other, false, 1);
    plain(&other, false, 2);
    CHECK_EQUAL(hrt_thread_join_all(), HRT_OK);
    CHECK_EQUAL(hrt_thread_join(other.thread, NULL), HRT_ESRCH);
}

void fiber_forks(void) {
    fork_all(true);
    union child other;
    plain(&other, true, 1);
    plain(&other, true, 2);
    CHECK_EQUAL(hrt_fiber_join_all(), HRT_OK);
}
