// SPDX-License-Identifier: Apache-2.0 OR MIT
// A worker: issues calls, sees to it that it is woken and that its memory comes back, and ends after its
// quota.
#define _GNU_SOURCE
#include "fuzz.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

enum { QUOTA = 1500, OF_FORKED = 25, TICK_US = 10000, NUMBERS_IN_ALL = 471 };

uint8_t handler_stacks[2][SPARE_STACKS][SPARE_BYTES];
static uint8_t clone_stacks[SPARE_STACKS][SPARE_BYTES];
// What the threads run on: out of reach of calls that write behind a mapping.
static uint8_t own_stacks[2][16 * PAGE] __attribute__((aligned(16)));
static struct worker workers[2];
static const char *home_directory;

uint8_t *clone_stack(void) {
    static unsigned turn;
    return clone_stacks[__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % SPARE_STACKS];
}

// A load or a store that may fault, the return from handlers, and a call whose child ends at once, without a
// use of the stack that it may have or not.
extern const uint8_t touch_begin[], touch_end[];
void touch(uint64_t address, uint64_t writes);
int64_t raw_child_ends(uint64_t number, const uint64_t *arguments);
void begin_on(void *stack, void (*does)(struct worker *), struct worker *worker);
int64_t begin_thread(void *stack, uint64_t flags, struct worker *worker, void (*does)(struct worker *));
__asm__(".globl back\n"
        "touch:\n\t"
        "test %rsi, %rsi\n\t"
        "touch_begin:\n\t"
        "jnz 1f\n\t"
        "movzbl (%rdi), %eax\n\t"
        "ret\n\t"
        "1: addb $1, (%rdi)\n\t"
        "touch_end:\n\t"
        "ret\n"
        "back:\n\t"
        "mov $15, %eax\n\t"
        "syscall\n"
        "raw_child_ends:\n\t"
        "mov %rdi, %rax\n\t"
        "mov %rsi, %r11\n\t"
        "mov (%r11), %rdi\n\t"
        "mov 8(%r11), %rsi\n\t"
        "mov 16(%r11), %rdx\n\t"
        "mov 24(%r11), %r10\n\t"
        "mov 32(%r11), %r8\n\t"
        "mov 40(%r11), %r9\n\t"
        "syscall\n\t"
        "test %rax, %rax\n\t"
        "jz 2f\n\t"
        "ret\n\t"
        "2: xor %edi, %edi\n\t"
        "mov $60, %eax\n\t"
        "syscall\n\t"
        "jmp 2b\n"
        "begin_on:\n\t"
        "mov %rdi, %rsp\n\t"
        "mov %rdx, %rdi\n\t"
        "call *%rsi\n\t"
        "ud2\n"
        "begin_thread:\n\t"
        "mov %rdx, %r8\n\t"
        "mov %rcx, %r9\n\t"
        "xchg %rsi, %rdi\n\t"
        "xor %edx, %edx\n\t"
        "xor %r10d, %r10d\n\t"
        "mov $56, %eax\n\t"
        "syscall\n\t"
        "test %rax, %rax\n\t"
        "jz 3f\n\t"
        "ret\n\t"
        "3: mov %r8, %rdi\n\t"
        "call *%r9\n\t"
        "ud2\n");

void nap(int signal) { (void)signal; }

// A touch goes on behind the instruction; any other fault is the end, as after a call that took memory away.
static void on_fault(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if ((uint64_t)registers[REG_RIP] - (uint64_t)touch_begin < (uint64_t)(touch_end - touch_begin)) {
        registers[REG_RIP] = (greg_t)touch_end;
        return;
    }
    raw(SYS_exit_group, 3, 0, 0, 0, 0, 0);
}

static void set_handler(int signal, void *handler, uint64_t flags) {
    const uint64_t action[4] = {(uint64_t)handler, flags | 0x04000000, (uint64_t)back, 0};
    raw(SYS_rt_sigaction, (uint64_t)signal, (uint64_t)action, 0, 8, 0, 0);
}

// Whatever blocks is woken soon.
static void restore_waking(void) {
    const uint64_t nothing = 0;
    const uint64_t ticks[4] = {0, TICK_US, 0, TICK_US};
    set_handler(SIGALRM, nap, 0);
    raw(SYS_rt_sigprocmask, SIG_SETMASK, (uint64_t)&nothing, 0, 8, 0, 0);
    raw(SYS_setitimer, ITIMER_REAL, (uint64_t)ticks, 0, 0, 0, 0);
}

static void restore_all(struct worker *worker) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    static const int others[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGUSR1, SIGPIPE, SIGUSR2, SIGTERM,
                                 SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ, SIGIO,   34};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        set_handler(faults[i], on_fault, SA_SIGINFO | SA_NODEFER);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        set_handler(others[i], nap, 0);
    }
    restore_waking();
    raw(SYS_chdir, (uint64_t)home_directory, 0, 0, 0, 0, 0);
    if (once_in(worker, 4)) {
        map_arena(worker);
    }
}

static int disturbs_waking(uint64_t number) {
    return number == SYS_rt_sigprocmask || number == SYS_rt_sigaction || number == SYS_setitimer ||
           number == SYS_alarm || number == SYS_rt_sigreturn;
}

// What a fork has made does some calls, too, and ends with its parent.
static void become_child(struct worker *worker) {
    worker->process = raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
    worker->thread = raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
    worker->child = 0;
    worker->left = below(worker, OF_FORKED);
    worker->random += (uint64_t)OF_FORKED << 32;
    raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
    restore_waking();
}

static void issue_fork(struct worker *worker, uint64_t number, const uint64_t *a) {
    // The child can go on here if it has a copy of the stack.
    int copies = number == SYS_fork || (number == SYS_clone && a[1] == 0 && (a[0] & CLONE_VM) == 0);
    int64_t result = copies ? raw(number, a[0], a[1], a[2], a[3], a[4], a[5]) : raw_child_ends(number, a);
    if (result == 0) {
        become_child(worker);
    } else if (result > 0) {
        worker->child = result;
    }
}

// In ring 0 a store goes wherever it is to go.
static void issue_touch(uint64_t address, uint64_t writes) {
    int in_arena = address - (uint64_t)ARENA < ARENA_BYTES;
    if (in_arena || address < 0x7ffffffff000) {
        touch(address, in_arena ? writes & 1 : 0);
    }
}

static void issue(struct worker *worker, uint64_t number, const uint64_t *a) {
    struct slot *slot = worker->slot;
    __atomic_store_n(&slot->number, number, __ATOMIC_RELAXED);
    for (int i = 0; i < MOST_ARGUMENTS; i++) {
        __atomic_store_n(&slot->arguments[i], a[i], __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&slot->issued, 1, __ATOMIC_RELAXED);
    switch (number) {
    case TOUCH:
        issue_touch(a[0], a[1]);
        return;
    case SYS_fork:
    case SYS_vfork:
    case SYS_clone:
    case SYS_clone3:
        issue_fork(worker, number, a);
        return;
    default:
        break;
    }
    int64_t result = raw(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if ((number == SYS_mmap || number == SYS_mremap || number == SYS_shmat) && result > 0) {
        worker->mapped = (uint64_t)result;
    }
    if ((number == SYS_shmget || number == SYS_semget || number == SYS_msgget) && result >= 0) {
        worker->object = (uint64_t)result;
    }
    if (disturbs_waking(number) && !once_in(worker, 8)) {
        restore_waking();
    }
}

static void one_call(struct worker *worker) {
    uint64_t number;
    uint64_t arguments[MOST_ARGUMENTS];
    const struct call *call = NULL;
    if (once_in(worker, 8)) {
        number = once_in(worker, 64) ? next(worker) : below(worker, NUMBERS_IN_ALL);
        if (keeps_table(worker, number) || once_in(worker, 2)) {
            call = find_call(number);
        }
    } else {
        call = choose_call(worker);
        number = call->number;
    }
    for (int i = 0; i < MOST_ARGUMENTS; i++) {
        arguments[i] = value(worker, call == NULL ? ANY : (enum kind)call->kinds[i]);
    }
    if (steer(worker, &number, arguments)) {
        issue(worker, number, arguments);
    }
}

static void loop(struct worker *worker) {
    worker->thread = raw(SYS_gettid, 0, 0, 0, 0, 0, 0);
    while (worker->left-- > 0 && __atomic_load_n(&worker->slot->issued, __ATOMIC_RELAXED) < worker->share) {
        if (worker->left % 64 == 0) {
            restore_all(worker);
        }
        one_call(worker);
    }
    for (;;) {
        raw(SYS_exit_group, DONE, 0, 0, 0, 0, 0);
    }
}

static void set_up(struct worker *worker, uint64_t index, struct slot *slot, uint64_t seed, uint64_t share) {
    worker->slot = slot;
    worker->share = share;
    worker->index = index;
    worker->random = seed + (index << 40);
    worker->stage = STAGES + index * STAGE_DISTANCE;
    worker->process = raw(SYS_getpid, 0, 0, 0, 0, 0, 0);
    worker->parent = raw(SYS_getppid, 0, 0, 0, 0, 0, 0);
    worker->left = QUOTA;
    worker->mapped = (uint64_t)ARENA;
    raw(SYS_mmap, (uint64_t)worker->stage, STAGE_BYTES, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0);
}

void work(struct slot *slot, uint64_t seed, enum tameness tameness, uint64_t share, const char *home) {
    home_directory = home;
    for (uint64_t index = 0; index < 2; index++) {
        workers[index].tameness = tameness;
        set_up(&workers[index], index, slot, seed, share);
    }
    map_arena(&workers[0]);
    restore_all(&workers[0]);
    if (once_in(&workers[0], 3)) {
        uint64_t flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
        begin_thread(own_stacks[1] + sizeof own_stacks[1], flags, &workers[1], loop);
    }
    begin_on(own_stacks[0] + sizeof own_stacks[0], loop, &workers[0]);
}
