// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Programs that end by a signal because they went, or return, to where no program can be.
//
//   wild KIND

#define _GNU_SOURCE
#include "../common/check.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

// Canonical, in the upper half; not canonical.
#define HIGH 0xffff900000000000u
#define NOWHERE 0x1234567890abcdefu

typedef void (*function)(void);

static volatile uint64_t target;
static volatile char untouched[1 << 20];

__attribute__((noinline)) static void call_target(void) {
    ((function)(uintptr_t)target)();
    __asm__ volatile("");
}

__attribute__((noinline)) static void return_to_target(void) {
    __asm__ volatile("push %0\n\tret" ::"r"(target));
}

static volatile size_t many = 64;

// As in the C course: more than fits, over the return address.
__attribute__((noinline)) static void smash_stack(size_t length) {
    char room[16];
    volatile char *at = room;
    __asm__ volatile("" : "+r"(at));
    for (size_t i = 0; i < length; i++) {
        at[i] = 'A';
    }
}

__attribute__((noinline)) static void use_bad_stack(void) {
    __asm__ volatile("mov %0, %%rsp\n\tpush %%rax" ::"r"(NOWHERE & ~(uint64_t)15));
}

static void edit_context(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)target;
}

static void install(int number, void *handler) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = (void (*)(int, siginfo_t *, void *))(uintptr_t)handler;
    action.sa_flags = SA_SIGINFO;
    CHECK_EQUAL(sigaction(number, &action, NULL), 0);
}

// What a handler is told about a jump, and that it can go back to the caller.
static volatile int seen;
static void go_back(int number, siginfo_t *info, void *context) {
    CHECK_EQUAL(number, SIGSEGV);
    CHECK(info->si_code == SEGV_MAPERR || info->si_code == SI_KERNEL);
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t *stack = (uint64_t *)(uintptr_t)registers[REG_RSP];
    if ((uint64_t)registers[REG_RIP] == target) {
        // The call has been made: its return address is on the stack.
        registers[REG_RIP] = (greg_t)stack[0];
        registers[REG_RSP] += 8;
    } else {
        // The processor refuses to make the call, an instruction of two or three bytes.
        const unsigned char *code = (const unsigned char *)(uintptr_t)registers[REG_RIP];
        registers[REG_RIP] += code[0] == 0xff ? 2 : 3;
    }
    seen++;
}

__attribute__((noinline)) static void recover(void) {
    install(SIGSEGV, (void *)(uintptr_t)go_back);
    static const uint64_t places[] = {HIGH, NOWHERE, 0x800000000000u, 0xffffffffffffffffu,
                                      0xffffffffff600123u};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        target = places[i];
        uint64_t place = target;
        __asm__ volatile("call *%0"
                         :
                         : "r"(place)
                         : "memory", "cc", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
        CHECK_EQUAL(seen, (int)i + 1);
    }
    printf("recovered %d times\n", seen);
}

// The calls of old at fixed addresses, which a kernel may leave out.
static void skip_call(int number, siginfo_t *info, void *context) {
    (void)info;
    CHECK_EQUAL(number, SIGSEGV);
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RIP] = *(greg_t *)(uintptr_t)registers[REG_RSP];
    registers[REG_RSP] += 8;
    registers[REG_RAX] = -1;
}

static void call_vsyscalls(void) {
    install(SIGSEGV, (void *)(uintptr_t)skip_call);
    long (*get_time)(long *) = (long (*)(long *))(uintptr_t)0xffffffffff600400u;
    int (*get_day)(long *, void *) = (int (*)(long *, void *))(uintptr_t)0xffffffffff600000u;
    int (*get_cpu)(unsigned *, unsigned *, void *) =
        (int (*)(unsigned *, unsigned *, void *))(uintptr_t)0xffffffffff600800u;
    long stored = 0, day[2] = {0, 0};
    unsigned cpu = 12345, node = 12345;
    long now = get_time(&stored);
    if (now != -1) {
        CHECK_EQUAL(now, stored);
        CHECK(now - (long)time(NULL) <= 1 && (long)time(NULL) - now <= 5);
        CHECK_EQUAL(get_day(day, NULL), 0);
        CHECK(day[0] - now <= 5 && day[0] >= now && day[1] >= 0 && day[1] < 1000000);
        CHECK_EQUAL(get_cpu(&cpu, &node, NULL), 0);
        CHECK(cpu < 4096 && node < 4096);
    }
    // A bad argument is a fault.
    CHECK_EQUAL(get_time((long *)8), -1);
    printf("%s\n", getenv("SHOW_VSYSCALL") && now == -1 ? "none" : "done");
}

__attribute__((noinline)) static int outer_function(const char *kind) {
    target = strstr(kind, "high") ? HIGH : NOWHERE;
    if (strncmp(kind, "call", 4) == 0) {
        call_target();
    } else if (strncmp(kind, "return", 6) == 0) {
        return_to_target();
    } else if (strcmp(kind, "smash") == 0) {
        smash_stack(many);
    } else if (strcmp(kind, "stack") == 0) {
        use_bad_stack();
    } else if (strncmp(kind, "handler", 7) == 0) {
        install(SIGUSR1, (void *)(uintptr_t)target);
        raise(SIGUSR1);
    } else if (strncmp(kind, "context", 7) == 0) {
        install(SIGUSR1, (void *)(uintptr_t)edit_context);
        raise(SIGUSR1);
    } else if (strcmp(kind, "sysret") == 0) {
        __asm__ volatile("lea 1f(%%rip), %%rcx\n\tpushfq\n\tpop %%r11\n\tsysretq\n1:" ::: "rcx", "r11");
    } else if (strcmp(kind, "int-8") == 0) {
        __asm__ volatile("int $8");
    } else if (strcmp(kind, "int-13") == 0) {
        __asm__ volatile("int $13");
    } else if (strcmp(kind, "int-14") == 0) {
        __asm__ volatile("int $14");
    } else if (strcmp(kind, "int-18") == 0) {
        __asm__ volatile("int $18");
    } else if (strcmp(kind, "int-144") == 0) {
        __asm__ volatile("int $144");
    } else if (strcmp(kind, "window") == 0) {
        munmap(NULL, 0x7ffffffff000u);
    } else if (strcmp(kind, "recover") == 0) {
        recover();
        return 0;
    } else if (strcmp(kind, "vsyscall") == 0) {
        call_vsyscalls();
        return 0;
    } else if (strcmp(kind, "gs-selector") == 0) {
        __asm__ volatile("xor %%eax, %%eax\n\tmov %%ax, %%gs" ::: "eax");
        getppid();
    } else if (strcmp(kind, "gs-base") == 0) {
        static uint64_t block[512];
        __asm__ volatile("wrgsbase %0" ::"r"(block));
        for (size_t i = 0; i < sizeof untouched; i += 4096) {
            untouched[i] = 1;
        }
    } else if (strcmp(kind, "gs-call") == 0) {
        static uint64_t zeros[512];
        zeros[0] = 0;
        __asm__ volatile("wrgsbase %0" ::"r"(zeros));
        getppid();
    } else if (strcmp(kind, "gs-swap") == 0) {
        __asm__ volatile("swapgs");
        for (size_t i = 0; i < sizeof untouched; i += 4096) {
            untouched[i] = 1;
        }
    } else {
        fprintf(stderr, "wild: no kind \"%s\"\n", kind);
        exit(2);
    }
    __asm__ volatile("");
    return 1;
}

int main(int argc, char **argv) {
    printf("before\n");
    fflush(stdout);
    return outer_function(argc > 1 ? argv[1] : "call-high");
}
