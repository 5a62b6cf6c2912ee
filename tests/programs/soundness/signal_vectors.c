// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Vector registers and masks over signal handlers that use them themselves, with handlers in every thread at
// the same time; and what a signal frame says about them.
//
//   signal_vectors THREADS

#define _GNU_SOURCE
#include "../common/check.h"
#include "registers.h"

#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

enum { MOST_THREADS = 64, ROUNDS = 2000, HANDLERS = 20 };

// Offsets in a signal frame's FP state: Linux's words for software, and the XSAVE header.
enum { SOFTWARE_WORDS = 464, HEADER = 512 };
// Component of the data of AMX's tiles (Intel SDM, vol. 1, 13.1).
#define TILES (1ull << 18)
#define MAGIC_1 0x46505853u
#define MAGIC_2 0x46505845u

static uint64_t components;
static int done;
static __thread volatile sig_atomic_t handled_here;

static void load_and_keep(const unsigned char *from, unsigned char *to, uint64_t rounds) {
    if (__builtin_cpu_supports("avx512bw")) {
        vectors_avx512bw(from, to, rounds);
    } else if (__builtin_cpu_supports("avx512f")) {
        vectors_avx512(from, to, rounds);
    } else if (__builtin_cpu_supports("avx")) {
        vectors_avx(from, to, rounds);
    } else {
        vectors_sse(from, to, rounds);
    }
}

static size_t kept_bytes(void) {
    if (__builtin_cpu_supports("avx512bw")) {
        return 32 * 64 + 8 * 8;
    }
    if (__builtin_cpu_supports("avx512f")) {
        return 32 * 64;
    }
    return __builtin_cpu_supports("avx") ? 512 : 256;
}

// The frame holds every component that the system has turned on, and says so.
static void look_at_frame(const ucontext_t *context) {
    const unsigned char *state = (const unsigned char *)context->uc_mcontext.fpregs;
    uint32_t magic, extended, xsave_size, end;
    uint64_t features, in_use;
    memcpy(&magic, state + SOFTWARE_WORDS, 4);
    if (components == 0) {
        return;
    }
    CHECK_EQUAL(magic, MAGIC_1);
    memcpy(&extended, state + SOFTWARE_WORDS + 4, 4);
    memcpy(&features, state + SOFTWARE_WORDS + 8, 8);
    memcpy(&xsave_size, state + SOFTWARE_WORDS + 16, 4);
    CHECK(extended >= xsave_size + 4);
    CHECK_EQUAL(features & components, components);
    memcpy(&end, state + xsave_size, 4);
    CHECK_EQUAL(end, MAGIC_2);
    memcpy(&in_use, state + HEADER, 8);
    CHECK_EQUAL(in_use & ~features, 0);
    // The C library may have cleared the upper halves of the first 16 registers, but not the others, nor the
    // masks.
    if (__builtin_cpu_supports("avx512bw")) {
        CHECK_EQUAL(in_use & 0xa0, 0xa0);
    }
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    unsigned char mine[2048 + 64], after[2048 + 64];
    memset(mine, 0x5a, sizeof mine);
    memset(after, 0, sizeof after);
    load_and_keep(mine, after, 10);
    CHECK_EQUAL(memcmp(mine, after, kept_bytes()), 0);
    // Before its first load the thread has no such state.
    if (handled_here != 0) {
        look_at_frame(context);
        handled_here++;
    }
}

static void *keep(void *argument) {
    unsigned long me = (unsigned long)argument;
    unsigned char before[2048 + 64], after[2048 + 64];
    for (size_t i = 0; i < sizeof before; i++) {
        before[i] = (unsigned char)(i * 29 + me * 57 + (i >> 6));
    }
    load_and_keep(before, after, 1);
    handled_here = 1;
    while (handled_here <= HANDLERS) {
        memset(after, 0, sizeof after);
        load_and_keep(before, after, ROUNDS);
        CHECK_EQUAL(memcmp(before, after, kept_bytes()), 0);
    }
    __atomic_fetch_add(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 4;
    CHECK(count > 0 && count <= MOST_THREADS);
    unsigned a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE) != 0) {
        unsigned low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        // Linux turns the tiles of AMX on, but keeps them only for programs that have asked (arch_prctl).
        components = ((uint64_t)high << 32 | low) & ~TILES;
    }
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    CHECK_EQUAL(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_t threads[MOST_THREADS];
    for (long i = 0; i < count; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, keep, (void *)i), 0);
    }
    // They are disturbed in the middle of their loops, most of the time.
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < count) {
        for (int i = 0; i < count; i++) {
            CHECK_EQUAL(pthread_kill(threads[i], SIGUSR1), 0);
        }
        usleep(500);
    }
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    printf("vector state of %d threads kept over signal handlers\n", count);
    return 0;
}
