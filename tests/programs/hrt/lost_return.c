/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A thread sleeps in a call of the kernel's table, and its stack is taken away meanwhile: the call returns
 * into a fault, which is the program's. And calls with flags that a C function never has.
 *
 *   lost-return unmap|empty|handle|flags */
#define _GNU_SOURCE
#include "table.h"

#include <hadal/hrt/sync.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

/* libc keeps the thread's own data at the top of the stack. */
enum { STACK_BYTES = 1 << 17, TOP_BYTES = 1 << 15, USED_BYTES = 1 << 16 };
enum { LOST_BYTES = STACK_BYTES - TOP_BYTES };

static uint32_t word;
static uint32_t sleeps;
static char *stack;
static char *copy;

__attribute__((noinline)) static void *sleep_in_call(void *arg) {
    volatile char used[USED_BYTES];
    used[0] = 0;
    __atomic_store_n(&sleeps, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0) {
        hrt_calls->wait(&word, 0, HRT_FOREVER, 0);
    }
    return used[0] ? NULL : arg;
}

/* Makes the stack good again, and goes on where the call returns. */
static void repair(int number, siginfo_t *info, void *context) {
    CHECK(number == SIGSEGV && (char *)info->si_addr >= stack && (char *)info->si_addr < stack + LOST_BYTES);
    ucontext_t *user = context;
    CHECK(user->uc_mcontext.gregs[REG_RIP] < 0);
    CHECK(mmap(stack, LOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
          stack);
    memcpy(stack, copy, LOST_BYTES);
}

static void *on_own_stack(void *arg) {
    static char room[1 << 16];
    stack_t alternate = {.ss_sp = room, .ss_size = sizeof room};
    CHECK(sigaltstack(&alternate, NULL) == 0);
    return sleep_in_call(arg);
}

static void lose(const char *kind) {
    stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy = malloc(LOST_BYTES);
    CHECK(stack != MAP_FAILED && copy != NULL);
    if (strcmp(kind, "handle") == 0) {
        struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO | SA_ONSTACK};
        CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    }
    pthread_attr_t attr;
    pthread_t thread;
    CHECK(pthread_attr_init(&attr) == 0 && pthread_attr_setstack(&attr, stack, STACK_BYTES) == 0);
    CHECK(pthread_create(&thread, &attr, on_own_stack, NULL) == 0);
    while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE)) {
    }
    struct timespec while_it_falls_asleep = {0, 100000000};
    nanosleep(&while_it_falls_asleep, NULL);
    memcpy(copy, stack, LOST_BYTES);
    if (strcmp(kind, "empty") == 0) {
        CHECK(madvise(stack, LOST_BYTES, MADV_DONTNEED) == 0);
    } else {
        CHECK(munmap(stack, LOST_BYTES) == 0);
    }
    __atomic_store_n(&word, 1, __ATOMIC_RELEASE);
    hrt_calls->wake(&word, 1, HRT_WAKE_KICK);
    CHECK(pthread_join(thread, NULL) == 0);
}

static volatile int stop;

static void *yield_too(void *arg) {
    while (!stop) {
        hrt_thread_yield();
    }
    return arg;
}

static volatile int traps;
static void count_trap(int number, siginfo_t *info, void *context) {
    CHECK(number == SIGTRAP && info->si_code == TRAP_TRACE);
    traps++;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* Direction, nested task, alignment check; then the trap flag, which ends with the call or in the handler. */
static void call_with_flags(void) {
    static const uint64_t flags[] = {0x400, 0x4000, 0x40000, 0x44400, 0x100};
    struct sigaction action = {.sa_sigaction = count_trap, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    pthread_t others[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&others[i], NULL, yield_too, NULL) == 0);
    }
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
            uint32_t other = 5;
            uint64_t wait = (uint64_t)(uintptr_t)hrt_calls->wait;
            uint64_t status = (uint64_t)(uintptr_t)&other, seen = 4, until = HRT_FOREVER, how = 0;
            /* The word has another value: the call returns at once. */
            __asm__ volatile("push %%rbx\n\tmov %%rsp, %%rbx\n\tsub $256, %%rsp\n\tand $-16, %%rsp\n\t"
                             "push %[flags]\n\tpopfq\n\tcall *%%rax\n\tmov %%rbx, %%rsp\n\tpop %%rbx\n\t"
                             "push $0x202\n\tpopfq"
                             : "+a"(wait), "+D"(status), "+S"(seen), "+d"(until), "+c"(how)
                             : [flags] "r"(flags[i] | 0x202)
                             : "r8", "r9", "r10", "r11", "cc", "memory");
            CHECK((int)wait == HRT_EAGAIN);
        }
        __asm__ volatile("push $0x4202\n\tpopfq" ::: "cc");
        hrt_thread_yield();
        __asm__ volatile("push $0x202\n\tpopfq" ::: "cc");
    }
    stop = 1;
    for (int i = 0; i < 2; i++) {
        pthread_join(others[i], NULL);
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "unmap";
    bind_table();
    if (strcmp(kind, "flags") == 0) {
        call_with_flags();
    } else {
        lose(kind);
    }
    puts("good");
    return 0;
}
