// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Handlers that recover from faults: by siglongjmp, by editing the context of the fault, and by repairing the
// memory and returning. Each handler checks what it is told about the fault.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

static sigjmp_buf back;
static volatile sig_atomic_t last_signal;
static volatile sig_atomic_t last_code;
static void *volatile last_address;

static void note(int number, const siginfo_t *info) {
    CHECK_EQUAL(info->si_signo, number);
    last_signal = number;
    last_code = info->si_code;
    last_address = info->si_addr;
}

static void jump_back(int number, siginfo_t *info, void *context) {
    (void)context;
    note(number, info);
    siglongjmp(back, 1);
}

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

static volatile int zero;

static void by_jump(void) {
    install(SIGSEGV, jump_back, 0);
    install(SIGFPE, jump_back, 0);
    install(SIGILL, jump_back, 0);
    for (int i = 0; i < 50; i++) {
        volatile int *address = (volatile int *)(uintptr_t)(i * 4);
        if (sigsetjmp(back, 1) == 0) {
            *address = 1;
            CHECK(0);
        }
        CHECK_EQUAL(last_signal, SIGSEGV);
        CHECK_EQUAL(last_code, SEGV_MAPERR);
        CHECK(last_address == (void *)(uintptr_t)address);
        if (sigsetjmp(back, 1) == 0) {
            volatile int result = 7 / zero;
            CHECK_EQUAL(result, 8);
        }
        CHECK_EQUAL(last_signal, SIGFPE);
        CHECK_EQUAL(last_code, FPE_INTDIV);
        if (sigsetjmp(back, 1) == 0) {
            __asm__ volatile("ud2");
        }
        CHECK_EQUAL(last_signal, SIGILL);
    }
    printf("siglongjmp: ok\n");
}

static char *page;
static int repairs;

static void repair(int number, siginfo_t *info, void *context) {
    (void)context;
    note(number, info);
    CHECK_EQUAL(last_code, SEGV_ACCERR);
    CHECK((char *)info->si_addr >= page && (char *)info->si_addr < page + 4096);
    repairs++;
    CHECK_EQUAL(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
}

static void by_repair(void) {
    install(SIGSEGV, repair, 0);
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(mprotect(page, 4096, i % 2 == 0 ? PROT_READ : PROT_NONE), 0);
        volatile char *byte = page + i * 40;
        *byte = (char)(i + 1);
        CHECK_EQUAL(*byte, i + 1);
    }
    CHECK_EQUAL(repairs, 100);
    printf("repair and return: ok\n");
}

static volatile double carried = 1.5;

static void skip_instruction(int number, siginfo_t *info, void *context) {
    ucontext_t *state = context;
    note(number, info);
    // ud2 is two bytes; RBX is seen and set, and vector registers may be used here.
    CHECK_EQUAL(state->uc_mcontext.gregs[REG_RBX], 0x1234);
    state->uc_mcontext.gregs[REG_RIP] += 2;
    state->uc_mcontext.gregs[REG_RBX] = 0x4321;
    carried = carried * 2.0 + (double)number;
}

static void by_editing(void) {
    install(SIGILL, skip_instruction, 0);
    for (int i = 0; i < 20; i++) {
        uint64_t rbx = 0x1234;
        double kept = 2.25 + i;
        // RBX carries a value in and out; XMM5 must come back as it was.
        __asm__ volatile("movsd %1, %%xmm5\n\t"
                         "ud2\n\t"
                         "movsd %%xmm5, %1"
                         : "+b"(rbx), "+m"(kept)
                         :
                         : "xmm5", "memory");
        CHECK_EQUAL(rbx, 0x4321);
        CHECK(kept == 2.25 + i);
    }
    printf("edited context: ok\n");
}

static char alternate[65536] __attribute__((aligned(16)));

static void on_alternate_stack(int number, siginfo_t *info, void *context) {
    (void)context;
    char here;
    CHECK(&here >= alternate && &here < alternate + sizeof alternate);
    note(number, info);
    siglongjmp(back, 1);
}

static volatile int depth;
// A depth that the recursion does not reach.
static volatile int never = -1;

__attribute__((noinline)) static int recurse(volatile int *below) {
    volatile int here[100];
    here[0] = below[0] + 1;
    depth++;
    if (depth == never) {
        return 0;
    }
    return recurse(here) + here[0];
}

static void overflow(void) {
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    CHECK_EQUAL(sigaltstack(&stack, NULL), 0);
    install(SIGSEGV, on_alternate_stack, SA_ONSTACK);
    for (int i = 0; i < 3; i++) {
        depth = 0;
        if (sigsetjmp(back, 1) == 0) {
            recurse(&depth);
        }
        CHECK_EQUAL(last_signal, SIGSEGV);
        CHECK(depth > 100);
    }
    printf("stack overflow on the alternate stack: ok\n");
}

static void *recover_on_thread(void *argument) {
    (void)argument;
    static volatile uintptr_t low_address = 0x40;
    install(SIGSEGV, jump_back, 0);
    if (sigsetjmp(back, 1) == 0) {
        *(volatile int *)low_address = 1;
    }
    CHECK_EQUAL(last_signal, SIGSEGV);
    return NULL;
}

int main(void) {
    by_jump();
    by_repair();
    by_editing();
    overflow();
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, recover_on_thread, NULL), 0);
    CHECK_EQUAL(pthread_join(thread, NULL), 0);
    printf("on a thread: ok\n");
    return 0;
}
