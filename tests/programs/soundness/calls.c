// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A system call keeps everything but RAX, RCX and R11: the live red zone, the general registers, the vector
// registers and MXCSR; also when the call sleeps, fails, or switches to another thread.

#define _GNU_SOURCE
#include "../common/check.h"
#include "registers.h"

#include <cpuid.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

static void make(const char *name, uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                 uint64_t e, uint64_t f) {
    struct call_registers in = {
        .rax = number,
        .rbx = 0xb0b0b0b0b0b0b0b0,
        .rdx = c,
        .rsi = b,
        .rdi = a,
        .rbp = 0xeb0eb0eb0eb0eb0e,
        .r8 = e,
        .r9 = f,
        .r10 = d,
        .r12 = 0x1212121212121212,
        .r13 = 0x1313131313131313,
        .r14 = 0x1414141414141414,
        .r15 = 0x1515151515151515,
    };
    struct call_registers out;
    for (int i = 0; i < 20; i++) {
        memset(&out, 0, sizeof out);
        call_with_red_zone(&in, &out);
        CHECK_EQUAL(out.red_zone_changes, 0);
        CHECK_EQUAL(out.rbx, in.rbx);
        CHECK_EQUAL(out.rdx, in.rdx);
        CHECK_EQUAL(out.rsi, in.rsi);
        CHECK_EQUAL(out.rdi, in.rdi);
        CHECK_EQUAL(out.rbp, in.rbp);
        CHECK_EQUAL(out.r8, in.r8);
        CHECK_EQUAL(out.r9, in.r9);
        CHECK_EQUAL(out.r10, in.r10);
        CHECK_EQUAL(out.r12, in.r12);
        CHECK_EQUAL(out.r13, in.r13);
        CHECK_EQUAL(out.r14, in.r14);
        CHECK_EQUAL(out.r15, in.r15);
        // The direction flag stays clear.
        CHECK_EQUAL(out.flags & 0x400, 0);
    }
    printf("%s keeps the registers, result is %s\n", name, (long)out.rax < 0 ? "an error" : "good");
}

static volatile int stop;

static void *compete(void *argument) {
    (void)argument;
    unsigned char pattern[4096];
    unsigned char after[4096];
    memset(pattern, 0xee, sizeof pattern);
    while (!stop) {
        vectors_sse(pattern, after, 100);
        sched_yield();
    }
    return NULL;
}

static void vectors_over(const char *name, long number) {
    unsigned char before[2048 + 64];
    unsigned char after[2048 + 64];
    for (size_t i = 0; i < sizeof before; i++) {
        before[i] = (unsigned char)(i * 7 + 3);
    }
    for (int i = 0; i < 50; i++) {
        memset(after, 0, sizeof after);
        vectors_sse_call(before, after, number);
        CHECK_EQUAL(memcmp(before, after, 256), 0);
        if (__builtin_cpu_supports("avx")) {
            memset(after, 0, sizeof after);
            vectors_avx_call(before, after, number);
            CHECK_EQUAL(memcmp(before, after, 512), 0);
        }
        if (__builtin_cpu_supports("avx512bw")) {
            memset(after, 0, sizeof after);
            vectors_avx512bw_call(before, after, number);
            CHECK_EQUAL(memcmp(before, after, sizeof before), 0);
        }
    }
    printf("%s keeps the vector registers\n", name);
}

int main(void) {
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    CHECK_EQUAL(sched_setaffinity(0, sizeof first, &first), 0);
    pthread_t competitor;
    CHECK_EQUAL(pthread_create(&competitor, NULL, compete, NULL), 0);

    static struct timespec moment = {0, 100000};
    static struct timespec result;
    static uint32_t word = 5;
    static char byte;
    make("getpid", SYS_getpid, 1, 2, 3, 4, 5, 6);
    make("sched_yield", SYS_sched_yield, 11, 12, 13, 14, 15, 16);
    make("nanosleep", SYS_nanosleep, (uint64_t)&moment, 0, 23, 24, 25, 26);
    make("clock_gettime", SYS_clock_gettime, CLOCK_MONOTONIC, (uint64_t)&result, 33, 34, 35, 36);
    make("futex", SYS_futex, (uint64_t)&word, FUTEX_WAIT_PRIVATE, 5, (uint64_t)&moment, 45, 46);
    make("write", SYS_write, (uint64_t)-1, (uint64_t)&byte, 1, 54, 55, 56);
    make("mprotect", SYS_mprotect, 1, 4096, PROT_READ, 64, 65, 66);
    make("sched_setaffinity", SYS_sched_setaffinity, 0, sizeof first, (uint64_t)&first, 74, 75, 76);
    make("an unknown call", 9999, 81, 82, 83, 84, 85, 86);

    vectors_over("getpid", SYS_getpid);
    vectors_over("sched_yield", SYS_sched_yield);
    stop = 1;
    CHECK_EQUAL(pthread_join(competitor, NULL), 0);
    return 0;
}
