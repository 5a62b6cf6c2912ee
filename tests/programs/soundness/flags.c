// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The flags survive a system call, and R11 holds them afterwards. Frames of handlers with flags, vector
// state, or places that no program can have, are made fit or refused, as Linux does.

#define _GNU_SOURCE
#include "../common/check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

// Carry, parity, adjust, zero, sign, direction, overflow, nested task, alignment check, identification.
static const uint64_t one_by_one[] = {1, 4, 0x10, 0x40, 0x80, 0x400, 0x800, 0x4000, 0x40000, 0x200000};
enum { FLAGS = sizeof one_by_one / sizeof one_by_one[0] };
#define KNOWN 0x244cd5u
#define INTERRUPTS 0x200u

static void call_with(uint64_t flags, long number) {
    uint64_t after, in_r11;
    long result = number;
    // The red zone is the compiler's.
    __asm__ volatile("sub $256, %%rsp\n\t"
                     "push %[flags]\n\t"
                     "popfq\n\t"
                     "syscall\n\t"
                     "pushfq\n\t"
                     "pop %[after]\n\t"
                     "push $2\n\t"
                     "popfq\n\t"
                     "mov %%r11, %[in_r11]\n\t"
                     "add $256, %%rsp"
                     : "+a"(result), [after] "=&r"(after), [in_r11] "=&r"(in_r11)
                     : [flags] "r"(flags | INTERRUPTS | 2)
                     : "rcx", "r11", "cc", "memory");
    CHECK_EQUAL(after & KNOWN, flags);
    CHECK_EQUAL(in_r11 & KNOWN, flags);
    CHECK_EQUAL(in_r11 & INTERRUPTS, INTERRUPTS);
    CHECK(result >= 0 || result == -38);
}

static void over_calls(void) {
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < FLAGS; i++) {
            call_with(one_by_one[i], SYS_getpid);
            call_with(KNOWN & ~one_by_one[i], round % 2 ? SYS_getppid : 4000);
        }
    }
    printf("flags survive\n");
}

// --- what handlers do to the frame

static sigjmp_buf back;
static volatile int bad;

enum {
    BAD_MXCSR = 1,
    BAD_COMPONENTS,
    BAD_COMPACTION,
    COMPACT,
    BAD_HEADER,
    ODD_ADDRESS,
    NO_ADDRESS,
    HIGH_ADDRESS,
    BAD_MAGIC,
    BAD_RSP,
    BAD_SEGMENTS,
    ALL_FLAGS,
    ENDS
};

static void spoil(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    ucontext_t *user = context;
    unsigned char *state = (unsigned char *)user->uc_mcontext.fpregs;
    greg_t *registers = user->uc_mcontext.gregs;
    uint64_t *header = (uint64_t *)(void *)(state + 512);
    switch (bad) {
    case BAD_MXCSR:
        memset(state + 24, 0xff, 4);
        break;
    case BAD_COMPONENTS:
        header[0] = ~(uint64_t)0;
        break;
    case BAD_COMPACTION:
        // Not the compact format, which some processors have, and yet with components of it.
        header[1] = 7;
        break;
    case COMPACT:
        // The format that only some processors have: taken by those, if at all.
        header[1] = (uint64_t)1 << 63 | 7;
        break;
    case BAD_HEADER:
        header[2] = 1;
        header[7] = 1;
        break;
    case ODD_ADDRESS:
        user->uc_mcontext.fpregs = (void *)(state + 4);
        break;
    case NO_ADDRESS:
        user->uc_mcontext.fpregs = (void *)(uintptr_t)0x1000;
        break;
    case HIGH_ADDRESS:
        user->uc_mcontext.fpregs = (void *)(uintptr_t)0xffff900000000000u;
        break;
    case BAD_MAGIC:
        memset(state + 464, 0xa5, 48);
        break;
    case BAD_RSP:
        // The handler's frame of the next signal does not fit anywhere: there is none.
        break;
    case BAD_SEGMENTS:
        registers[REG_CSGSFS] = (registers[REG_CSGSFS] & ~(greg_t)0xffff) | 0x33;
        break;
    case ALL_FLAGS:
        // All but the trap flag; what is the system's stays as it is.
        registers[REG_EFL] = -1 & ~0x100;
        break;
    }
}

static void jump_back(int number, siginfo_t *info, void *context) {
    (void)info;
    (void)context;
    siglongjmp(back, number);
}

static void install(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

static void spoilt_frames(void) {
    install(SIGUSR1, spoil);
    install(SIGSEGV, jump_back);
    install(SIGBUS, jump_back);
    for (int round = 0; round < 3; round++) {
        for (bad = BAD_MXCSR; bad < ENDS; bad++) {
            int number = sigsetjmp(back, 1);
            if (number == 0) {
                long result;
                uint64_t flags;
                __asm__ volatile(
                    "sub $256, %%rsp\n\tsyscall\n\tpushfq\n\tpop %[flags]\n\tpush $2\n\tpopfq\n\t"
                    "add $256, %%rsp"
                    : "=a"(result), [flags] "=&r"(flags)
                    : "0"((long)SYS_tgkill), "D"((long)getpid()), "S"((long)getpid()), "d"((long)SIGUSR1)
                    : "rcx", "r11", "cc", "memory");
                CHECK_EQUAL(result, 0);
                if (bad == ALL_FLAGS) {
                    CHECK_EQUAL(flags & 0x3000, 0);
                    CHECK_EQUAL(flags & 0xc40, 0xc40);
                }
            }
            uint32_t mxcsr = 0x1f80;
            unsigned short control = 0x37f;
            __asm__ volatile("ldmxcsr %0\n\tfninit\n\tfldcw %1" ::"m"(mxcsr), "m"(control));
            volatile double half = 0.5;
            CHECK(half + half == 1.0);
            if (round == 0) {
                CHECK(bad != COMPACT || number == SIGSEGV || number == 0);
                printf("%d: %s\n", bad,
                       bad == COMPACT      ? "as the processor can"
                       : number == SIGSEGV ? "refused"
                       : number == 0       ? "taken"
                                           : "other signal");
            }
        }
    }
}

static void nothing(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
}

// What -ffast-math sets: denormals are zeros, results flushed to zero.
static void fast_math_stays(void) {
    install(SIGUSR1, nothing);
    uint32_t fast = 0x9fc0, after = 0;
    __asm__ volatile("ldmxcsr %0" ::"m"(fast));
    raise(SIGUSR1);
    __asm__ volatile("stmxcsr %0" : "=m"(after));
    CHECK_EQUAL(after & 0xffc0, fast);
    printf("fast floating-point stays fast\n");
}

int main(void) {
    over_calls();
    fast_math_stays();
    spoilt_frames();
    return 0;
}
