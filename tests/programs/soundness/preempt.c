// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// What preemption must keep of each thread, with twice as many threads as processors.
//
//   preempt fsbase THREADS      the FS base that the program wrote with WRFSBASE, for a second
//   preempt vectors THREADS     every vector register, the masks, MXCSR and the x87 control word, for a
//   second

#define _GNU_SOURCE
#include "../common/check.h"
#include "registers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <time.h>

enum { MOST_THREADS = 512 };

static struct timespec start;

static int second_is_over(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >= 1000;
}

static void *keep_fs_base(void *argument) {
    // No handler may run while the base is not that of the thread.
    sigset_t all;
    sigfillset(&all);
    CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &all, NULL), 0);
    uint64_t value = 0x10000 * ((uint64_t)argument + 1) + 0x123;
    uint64_t wrong = 0;
    do {
        wrong += fs_base_spin(value, 200000);
    } while (!second_is_over());
    CHECK_EQUAL(wrong, 0);
    return NULL;
}

static void *keep_vectors(void *argument) {
    unsigned long me = (unsigned long)argument;
    unsigned char before[2048 + 64];
    unsigned char after[2048 + 64];
    for (size_t i = 0; i < sizeof before; i++) {
        before[i] = (unsigned char)(i * 13 + me * 101 + (i >> 5));
    }
    // A rounding mode and a set of masks of this thread's own. All exceptions stay masked.
    unsigned mxcsr = 0x1f80u | (unsigned)(me & 3) << 13 | (unsigned)(me >> 2 & 1) << 15;
    unsigned short control = (unsigned short)(0x037fu | (me & 3) << 10);
    unsigned old_mxcsr;
    unsigned short old_control;
    __asm__ volatile("stmxcsr %0" : "=m"(old_mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(old_control));
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    __asm__ volatile("fldcw %0" : : "m"(control));
    do {
        memset(after, 0, sizeof after);
        vectors_sse(before, after, 20000);
        CHECK_EQUAL(memcmp(before, after, 256), 0);
        if (__builtin_cpu_supports("avx")) {
            memset(after, 0, sizeof after);
            vectors_avx(before, after, 20000);
            CHECK_EQUAL(memcmp(before, after, 512), 0);
        }
        if (__builtin_cpu_supports("avx512bw")) {
            memset(after, 0, sizeof after);
            vectors_avx512bw(before, after, 20000);
            CHECK_EQUAL(memcmp(before, after, sizeof before), 0);
        } else if (__builtin_cpu_supports("avx512f")) {
            memset(after, 0, sizeof after);
            vectors_avx512(before, after, 20000);
            CHECK_EQUAL(memcmp(before, after, 2048), 0);
        }
        unsigned now_mxcsr;
        unsigned short now_control;
        __asm__ volatile("stmxcsr %0" : "=m"(now_mxcsr));
        __asm__ volatile("fnstcw %0" : "=m"(now_control));
        CHECK_EQUAL(now_mxcsr & ~0x3fu, mxcsr);
        CHECK_EQUAL(now_control, control);
    } while (!second_is_over());
    __asm__ volatile("ldmxcsr %0" : : "m"(old_mxcsr));
    __asm__ volatile("fldcw %0" : : "m"(old_control));
    return NULL;
}

int main(int argc, char **argv) {
    int fsbase = argc > 1 && strcmp(argv[1], "fsbase") == 0;
    int count = argc > 2 ? atoi(argv[2]) : 4;
    CHECK(count > 0 && count <= MOST_THREADS);
    if (fsbase && (getauxval(AT_HWCAP2) & 2) == 0) {
        printf("the processor has no WRFSBASE\n");
        return 0;
    }
    pthread_t threads[MOST_THREADS];
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < count; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, fsbase ? keep_fs_base : keep_vectors, (void *)i), 0);
    }
    for (int i = 0; i < count; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    printf("%s of %d threads kept\n", fsbase ? "FS base" : "vector state", count);
    return 0;
}
