// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a program in ring 3 must not do: reach the kernel's memory or its neighbours', run what is no code of
// its own, execute privileged instructions, and return to the kernel in a way that the kernel does not
// expect. Each is done by a child, which gets the signal that it would get from Linux; a neighbour's memory
// is right all the while.
#define _GNU_SOURCE
#include "../common/check.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

// What a child does to the rest of the machine.
typedef void (*act)(uintptr_t where);

// Ends with the signal that ended the child, negative, or its exit status.
static int outcome(act does, uintptr_t where) {
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        does(where);
        _exit(0);
    }
    int status;
    CHECK_EQUAL(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void expect(const char *what, act does, uintptr_t where, int signal) {
    int got = outcome(does, where);
    if (got != -signal) {
        fprintf(stderr, "%s at %#lx: %d\n", what, (unsigned long)where, got);
    }
    CHECK_EQUAL(got, -signal);
}

// --- memory ---

static void reads(uintptr_t where) { (void)*(volatile char *)where; }
static void writes(uintptr_t where) { *(volatile char *)where = 1; }
static void locks(uintptr_t where) { __atomic_fetch_add((int *)where, 1, __ATOMIC_SEQ_CST); }
static void jumps(uintptr_t where) { ((void (*)(void))where)(); }
static void stands_on(uintptr_t where) {
    __asm__ volatile("mov %0, %%rsp\n\tpush %%rax" : : "r"(where) : "memory");
}

// Of Hadal and of Linux: the image, the direct map, device memory, the ends of the two halves.
static const uintptr_t foreign[] = {
    0,
    0xffffffff80000000,
    0xffffffff80100000,
    0xffffffff81000000,
    0xffff800000000000,
    0xffff800000100000,
    0xffff888000100000,
    0xffffc00000000000 + 0xfee00000,
    0xffffffffff5fc000,
    0xfffffffffffff000,
    0x7ffffffff000,
};
// The processor takes them for no address.
static const uintptr_t no_address[] = {0x800000000000, 0xffff7fffffffffff, 0x8000000000000000,
                                       0xdeadbeefdeadbeef};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Linux says SIGBUS where the processor takes the address for none.
static void expect_no_stack(uintptr_t where) {
    int got = outcome(stands_on, where);
    CHECK(got == -SIGBUS || got == -SIGSEGV);
}

static void memory(void) {
    for (size_t i = 0; i < COUNT(foreign); i++) {
        expect("read", reads, foreign[i], SIGSEGV);
        expect("write", writes, foreign[i], SIGSEGV);
        expect("locked", locks, foreign[i], SIGSEGV);
        expect("jump", jumps, foreign[i], SIGSEGV);
        expect_no_stack(foreign[i]);
    }
    for (size_t i = 0; i < COUNT(no_address); i++) {
        expect("read", reads, no_address[i], SIGSEGV);
        expect("write", writes, no_address[i], SIGSEGV);
        expect("jump", jumps, no_address[i], SIGSEGV);
        expect_no_stack(no_address[i]);
    }
}

// --- code ---

static void runs_stack(uintptr_t unused) {
    (void)unused;
    unsigned char code[16] = {0xc3};
    __asm__ volatile("" : : "r"(code) : "memory");
    ((void (*)(void))(uintptr_t)code)();
}
static void runs_data(uintptr_t unused) {
    (void)unused;
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    page[0] = 0xc3;
    ((void (*)(void))(uintptr_t)page)();
}
static void writes_text(uintptr_t unused) {
    (void)unused;
    *(volatile char *)(uintptr_t)memory = 0;
}
static void code(void) {
    expect("stack", runs_stack, 0, SIGSEGV);
    expect("data", runs_data, 0, SIGSEGV);
    expect("text", writes_text, 0, SIGSEGV);
}

// --- instructions ---

#define INSTRUCTION(name, ...)                                                                               \
    static void name(uintptr_t unused) {                                                                     \
        (void)unused;                                                                                        \
        __asm__ volatile(__VA_ARGS__);                                                                       \
    }
static char table[16];
INSTRUCTION(halts, "hlt")
INSTRUCTION(masks, "cli")
INSTRUCTION(unmasks, "sti")
INSTRUCTION(reads_port, "mov $0x3f8, %%dx\n\tin %%dx, %%al" : : : "eax", "edx")
INSTRUCTION(writes_port, "mov $0x604, %%dx\n\tmov $0x2000, %%ax\n\tout %%ax, %%dx" : : : "eax", "edx")
INSTRUCTION(writes_string, "mov $0x3f8, %%dx\n\toutsb" : : "S"(table) : "edx")
INSTRUCTION(reads_cr0, "mov %%cr0, %%rax" : : : "rax")
INSTRUCTION(reads_cr3, "mov %%cr3, %%rax" : : : "rax")
INSTRUCTION(writes_cr3, "mov %%rax, %%cr3" : : "a"(0UL) : "memory")
INSTRUCTION(writes_cr4, "mov %%rax, %%cr4" : : "a"(0UL) : "memory")
INSTRUCTION(writes_cr8, "mov %%rax, %%cr8" : : "a"(15UL) : "memory")
INSTRUCTION(reads_dr7, "mov %%db7, %%rax" : : : "rax")
INSTRUCTION(writes_dr7, "mov %%rax, %%db7" : : "a"(0x455UL))
INSTRUCTION(clears_ts, "clts")
INSTRUCTION(invalidates, "invlpg (%%rsp)" : : : "memory")
INSTRUCTION(empties_cache, "invd")
INSTRUCTION(writes_back, "wbinvd")
INSTRUCTION(loads_gdt, "lgdt %0" : : "m"(table))
INSTRUCTION(loads_idt, "lidt %0" : : "m"(table))
INSTRUCTION(loads_ldt, "lldt %w0" : : "r"(0))
INSTRUCTION(loads_tr, "ltr %w0" : : "r"(0x18))
INSTRUCTION(loads_msw, "lmsw %w0" : : "r"(0))
INSTRUCTION(reads_msr, "rdmsr" : : "c"(0xc0000102) : "eax", "edx")
INSTRUCTION(writes_msr, "wrmsr" : : "c"(0xc0000082), "a"(0), "d"(0))
INSTRUCTION(swaps_gs, "swapgs")
INSTRUCTION(returns_from_call, "sysretq" : : "c"(0), "r"(0) : "r11")
INSTRUCTION(opens_memory, "stac")
INSTRUCTION(sets_xcr0, "xsetbv" : : "c"(0), "a"(1), "d"(0))
INSTRUCTION(runs_guest, "vmrun" : : "a"(0UL))
INSTRUCTION(software_interrupt_0x20, "int $0x20")
INSTRUCTION(software_interrupt_0xfe, "int $0xfe")
INSTRUCTION(software_double_fault, "int $8")
INSTRUCTION(software_page_fault, "int $14")
INSTRUCTION(software_nmi, "int $2")
INSTRUCTION(breakpoint, "int3")
INSTRUCTION(undefined, "ud2")
INSTRUCTION(steps, "pushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tnop" : : : "memory", "cc")
// The flag is set when the call is made, and must neither stop the kernel nor be lost.
INSTRUCTION(steps_over_call, "pushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\tsyscall"
            :
            : "a"(SYS_getppid)
            : "rcx", "r11", "memory")

static void instructions(void) {
    static const struct {
        const char *name;
        act does;
        int signal;
    } tried[] = {
#define TRY(name, signal) {#name, name, signal}
        TRY(halts, SIGSEGV),
        TRY(masks, SIGSEGV),
        TRY(unmasks, SIGSEGV),
        TRY(reads_port, SIGSEGV),
        TRY(writes_port, SIGSEGV),
        TRY(writes_string, SIGSEGV),
        TRY(reads_cr0, SIGSEGV),
        TRY(reads_cr3, SIGSEGV),
        TRY(writes_cr3, SIGSEGV),
        TRY(writes_cr4, SIGSEGV),
        TRY(writes_cr8, SIGSEGV),
        TRY(reads_dr7, SIGSEGV),
        TRY(writes_dr7, SIGSEGV),
        TRY(clears_ts, SIGSEGV),
        TRY(invalidates, SIGSEGV),
        TRY(empties_cache, SIGSEGV),
        TRY(writes_back, SIGSEGV),
        TRY(loads_gdt, SIGSEGV),
        TRY(loads_idt, SIGSEGV),
        TRY(loads_ldt, SIGSEGV),
        TRY(loads_tr, SIGSEGV),
        TRY(loads_msw, SIGSEGV),
        TRY(reads_msr, SIGSEGV),
        TRY(writes_msr, SIGSEGV),
        TRY(swaps_gs, SIGSEGV),
        TRY(returns_from_call, SIGSEGV),
        TRY(sets_xcr0, SIGSEGV),
        TRY(software_interrupt_0x20, SIGSEGV),
        TRY(software_interrupt_0xfe, SIGSEGV),
        TRY(software_double_fault, SIGSEGV),
        TRY(software_page_fault, SIGSEGV),
        TRY(software_nmi, SIGSEGV),
        TRY(opens_memory, SIGILL),
        TRY(undefined, SIGILL),
        TRY(breakpoint, SIGTRAP),
        TRY(steps, SIGTRAP),
        TRY(steps_over_call, SIGTRAP),
    };
    for (size_t i = 0; i < COUNT(tried); i++) {
        expect(tried[i].name, tried[i].does, 0, tried[i].signal);
    }
    // The processor says which of the two.
    int got = outcome(runs_guest, 0);
    CHECK(got == -SIGILL || got == -SIGSEGV);
}

// --- segments and returns ---

static void loads_ds(uintptr_t selector) { __asm__ volatile("mov %0, %%ds" : : "r"((uint16_t)selector)); }
static void loads_ss(uintptr_t selector) {
    __asm__ volatile("mov %0, %%ss\n\tpush %%rax" : : "r"((uint16_t)selector) : "memory");
}
static void loads_gs(uintptr_t selector) { __asm__ volatile("mov %0, %%gs" : : "r"((uint16_t)selector)); }
static void far_returns(uintptr_t selector) {
    __asm__ volatile("push %0\n\tlea 1f(%%rip), %%rax\n\tpush %%rax\n\tlretq\n\t1:"
                     :
                     : "r"(selector)
                     : "rax", "memory");
}
static void interrupt_returns(uintptr_t selector) {
    __asm__ volatile(
        "mov %%rsp, %%rcx\n\tmov %%ss, %%eax\n\tpush %%rax\n\tpush %%rcx\n\tpushfq\n\tpush %0\n\t"
        "lea 1f(%%rip), %%rax\n\tpush %%rax\n\tiretq\n\t1:"
        :
        : "r"(selector)
        : "rax", "rcx", "memory");
}
// The base of %gs is the kernel's business only as long as it is in the kernel.
static void moves_gs(uintptr_t base) {
    // ARCH_SET_GS takes an address of the program only.
    if (syscall(SYS_arch_prctl, 0x1001, base) == 0) {
        unsigned long found = 0;
        CHECK_EQUAL(syscall(SYS_arch_prctl, 0x1004, &found), 0);
        CHECK_EQUAL(found, base);
        for (int i = 0; i < 100; i++) {
            sched_yield();
            getppid();
        }
        CHECK_EQUAL(syscall(SYS_arch_prctl, 0x1004, &found), 0);
        CHECK_EQUAL(found, base);
        struct timespec moment = {0, 20000000};
        nanosleep(&moment, NULL);
        CHECK_EQUAL(syscall(SYS_arch_prctl, 0x1004, &found), 0);
        CHECK_EQUAL(found, base);
    }
    _exit(42);
}

// A program may write the base of %fs without a call, and fork with it.
static void forks_without_storage(uintptr_t base) {
    const unsigned long has_wrfsbase = 2;
    if ((getauxval(AT_HWCAP2) & has_wrfsbase) == 0) {
        _exit(42);
    }
    uintptr_t before;
    long child = SYS_fork;
    __asm__ volatile("rdfsbase %0\n\twrfsbase %2\n\tsyscall\n\twrfsbase %0"
                     : "=&r"(before), "+a"(child)
                     : "r"(base)
                     : "rcx", "r11", "memory");
    CHECK(child >= 0);
    int status;
    if (child > 0) {
        CHECK_EQUAL(waitpid((pid_t)child, &status, 0), child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    }
    _exit(42);
}

static void segments(void) {
    static const uintptr_t selectors[] = {0x07, 0x0c, 0x08, 0x10, 0x18, 0x40, 0xfff8};
    for (size_t i = 0; i < COUNT(selectors); i++) {
        expect("ds", loads_ds, selectors[i], SIGSEGV);
        int got = outcome(loads_ss, selectors[i]);
        CHECK(got == -SIGSEGV || got == -SIGBUS);
        expect("gs", loads_gs, selectors[i], SIGSEGV);
        expect("far return", far_returns, selectors[i], SIGSEGV);
        expect("iret", interrupt_returns, selectors[i], SIGSEGV);
    }
    for (uintptr_t null = 0; null < 4; null++) {
        CHECK_EQUAL(outcome(loads_ds, null), 0);
        CHECK_EQUAL(outcome(loads_gs, null), 0);
    }
    static const uintptr_t bases[] = {
        0, 0x1000, 0x7ffffffff000, 0xffff800000001000, 0xffffffff80200000, 0x800000000000};
    for (size_t i = 0; i < COUNT(bases); i++) {
        CHECK_EQUAL(outcome(moves_gs, bases[i]), 42);
    }
    static const uintptr_t storage[] = {0, 0x1000, 0x7ffffffff000, 0xffff800000001000, 0xffffffff80200000};
    for (size_t i = 0; i < COUNT(storage); i++) {
        CHECK_EQUAL(outcome(forks_without_storage, storage[i]), 42);
    }
}

// --- pointers to calls ---

// Numbers of calls that end or stop the caller, or wait.
static int is_excluded(long number) {
    static const long excluded[] = {SYS_exit,
                                    SYS_exit_group,
                                    SYS_pause,
                                    SYS_rt_sigreturn,
                                    SYS_fork,
                                    SYS_vfork,
                                    SYS_clone,
                                    SYS_clone3,
                                    SYS_kill,
                                    SYS_tkill,
                                    SYS_tgkill,
                                    SYS_read,
                                    SYS_wait4,
                                    SYS_waitid,
                                    SYS_rt_sigsuspend,
                                    SYS_epoll_wait,
                                    SYS_reboot,
                                    SYS_execve,
                                    SYS_execveat,
                                    SYS_poll,
                                    SYS_select,
                                    SYS_munmap,
                                    SYS_mremap,
                                    SYS_mprotect,
                                    SYS_brk,
                                    SYS_shutdown,
                                    SYS_close,
                                    SYS_ppoll,
                                    SYS_pselect6,
                                    SYS_alarm,
                                    SYS_setitimer,
                                    SYS_prctl,
                                    SYS_seccomp,
                                    SYS_mmap,
                                    SYS_arch_prctl,
                                    SYS_dup2,
                                    SYS_dup3,
                                    SYS_rt_sigprocmask,
                                    SYS_rt_sigtimedwait,
                                    SYS_setrlimit,
                                    SYS_prlimit64,
                                    SYS_personality,
                                    SYS_madvise,
                                    SYS_munlockall,
                                    SYS_close_range,
                                    SYS_rt_sigqueueinfo,
                                    SYS_rt_tgsigqueueinfo,
                                    SYS_nanosleep,
                                    SYS_clock_nanosleep,
                                    SYS_futex,
                                    SYS_rseq,
                                    SYS_set_tid_address,
                                    SYS_set_robust_list,
                                    SYS_sigaltstack,
                                    SYS_remap_file_pages,
                                    SYS_setpgid,
                                    SYS_setsid,
                                    SYS_epoll_pwait,
                                    SYS_epoll_pwait2,
                                    SYS_flock,
                                    SYS_fcntl,
                                    SYS_membarrier,
                                    SYS_vhangup,
                                    SYS_sync};
    for (size_t i = 0; i < COUNT(excluded); i++) {
        if (excluded[i] == number) {
            return 1;
        }
    }
    return 0;
}

// Whatever a call makes of such a pointer, the kernel's memory is neither read nor written by it. Not for a
// machine that others use: with luck a call changes something of it.
static void passes(uintptr_t where) {
    for (long number = 0; number < 460; number++) {
        if (!is_excluded(number)) {
            syscall(number, where, where, where, where, where, where);
            syscall(number, 3, where, 64, where, where, where);
            syscall(number, -1, where, where, 64, where, 8);
        }
    }
    _exit(42);
}

static void returns_error(uintptr_t where) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    CHECK_EQUAL(syscall(SYS_write, ends[1], "0123456789abcdef", 16), 16);
    CHECK_ERRNO(syscall(SYS_write, ends[1], where, 8), EFAULT);
    CHECK_ERRNO(syscall(SYS_read, ends[0], where, 8), EFAULT);
    CHECK_ERRNO(syscall(SYS_uname, where), EFAULT);
    CHECK_ERRNO(syscall(SYS_getrandom, where, 16, 0), EFAULT);
    CHECK_ERRNO(syscall(SYS_open, where, 0), EFAULT);
    CHECK_ERRNO(syscall(SYS_nanosleep, where, NULL), EFAULT);
    CHECK_ERRNO(syscall(SYS_rt_sigaction, SIGUSR1, where, NULL, 8), EFAULT);
    CHECK_ERRNO(syscall(SYS_futex, where & ~3UL, 0, 0, NULL, NULL, 0), EFAULT);
    _exit(42);
}

static void pointers(void) {
    for (size_t i = 1; i < COUNT(foreign); i++) {
        CHECK_EQUAL(outcome(returns_error, foreign[i]), 42);
    }
    for (size_t i = 1; i < COUNT(foreign); i++) {
        CHECK_EQUAL(outcome(passes, foreign[i]), 42);
    }
    for (size_t i = 0; i < COUNT(no_address); i++) {
        CHECK_EQUAL(outcome(passes, no_address[i]), 42);
    }
}

// --- signal frames ---

// A handler that changes what the thread goes on with.
static uintptr_t edited_rip;
static void edits(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] = (greg_t)edited_rip;
}
static void returns_to(uintptr_t where) {
    struct sigaction action = {.sa_sigaction = edits, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaction(SIGUSR1, &action, NULL);
    edited_rip = where;
    raise(SIGUSR1);
}
static void edits_all(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    ucontext_t *saved = context;
    // Of the kernel's ring, with interrupts off and every privilege of the flags.
    saved->uc_mcontext.gregs[REG_CSGSFS] = 0x0010000000000008;
    saved->uc_mcontext.gregs[REG_EFL] = 0x3000;
}
static void returns_with_privilege(uintptr_t unused) {
    (void)unused;
    struct sigaction action = {.sa_sigaction = edits_all, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    __asm__ volatile("hlt");
}
static void frames(void) {
    for (size_t i = 0; i < COUNT(foreign); i++) {
        expect("sigreturn", returns_to, foreign[i], SIGSEGV);
    }
    for (size_t i = 0; i < COUNT(no_address); i++) {
        expect("sigreturn", returns_to, no_address[i], SIGSEGV);
    }
    expect("privilege", returns_with_privilege, 0, SIGSEGV);
}

// --- neighbours ---

enum { WORDS = 1 << 16 };

// A process whose memory nobody touches, while others try all of the above.
static pid_t begin_neighbour(int *stop) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    fflush(stdout);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[1]);
        uint32_t *words = malloc(WORDS * sizeof *words);
        for (uint32_t i = 0; i < WORDS; i++) {
            words[i] = i * 2654435761u;
        }
        char end;
        while (read(ends[0], &end, 1) == -1) {
        }
        for (uint32_t i = 0; i < WORDS; i++) {
            if (words[i] != i * 2654435761u) {
                _exit(1);
            }
        }
        _exit(42);
    }
    close(ends[0]);
    *stop = ends[1];
    return child;
}

static void neighbours(void) {
    int stop;
    pid_t neighbour = begin_neighbour(&stop);
    memory();
    instructions();
    close(stop);
    int status;
    CHECK_EQUAL(waitpid(neighbour, &status, 0), neighbour);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

int main(int argc, char **argv) {
    static const struct part parts[] = {
        {"memory", memory},     {"code", code},     {"instructions", instructions}, {"segments", segments},
        {"pointers", pointers}, {"frames", frames}, {"neighbours", neighbours},
    };
    return run_parts(parts, COUNT(parts), argc, argv);
}
