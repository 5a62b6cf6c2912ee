// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// A signal after every instruction of a forked child's start (runtimes/hrt/fork_switch.S): the processor
// single-steps, and each trap writes a signal's frame below the stack pointer. What the child is told must
// not be there any more when it does.

#define _GNU_SOURCE
#include "../common/check.h"

#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

// As in the source: registers, where the copy of the frame is, words to copy.
struct child {
    uint64_t rip, rsp, rbp, rbx, r12, r13, r14, r15;
    const void *source;
    uint64_t words;
};
enum {
    SLOT_ALIGN = 1024,
    SLOT_CHILD = 48,
    FORK_BYTES = 512,
    NEAR_WORDS = 8,
    FAR_WORDS = 64,
    SPARE = 64 << 10
};

void *hrt_fork_resume(void *stack);
void hrt_fork_wait(void *slot);
int hrt_fork_thread(void *forking);
void hrt_slot_restart(void *slot, int result);

// What the other half of the source calls.
void hrt_fork_wait(void *slot) {
    (void)slot;
    abort();
}
int hrt_fork_thread(void *forking) {
    (void)forking;
    abort();
}
void hrt_slot_restart(void *slot, int result) {
    (void)slot;
    (void)result;
    abort();
}

static _Alignas(4096) unsigned char memory[2 * SPARE];
uint64_t result[8];
uint64_t home;
static volatile int steps;

static void step(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    (void)context;
    steps++;
}

// Where the child goes on: stores what it has got, and returns to resume_at().
__asm__(".text\n"
        "arrived:\n\t"
        "push $2\n\tpopfq\n\t"
        "mov %rsp, result(%rip)\n\tmov %rbp, result+8(%rip)\n\tmov %rbx, result+16(%rip)\n\t"
        "mov %r12, result+24(%rip)\n\tmov %r13, result+32(%rip)\n\tmov %r14, result+40(%rip)\n\t"
        "mov %r15, result+48(%rip)\n\tmov %rax, result+56(%rip)\n\t"
        "mov home(%rip), %rsp\n\t"
        "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
        "resume_at:\n\t"
        "push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
        "mov %rsp, home(%rip)\n\t"
        "mov %rsi, %rsp\n\t"
        "push $0x102\n\tpopfq\n\t"
        "jmp hrt_fork_resume\n");
void arrived(void);
void resume_at(void *stack, void *stack_pointer);

// The slot at `memory + SPARE`, its loop's stack pointer below the child's start, or far from where that is.
static void start(int words_away) {
    unsigned char *slot = memory + SPARE;
    struct child *child = (struct child *)(void *)(words_away ? memory : slot - FORK_BYTES);
    uint64_t *frame = (uint64_t *)(void *)(slot - 8 * (words_away ? FAR_WORDS : NEAR_WORDS));
    *child =
        (struct child){(uint64_t)(uintptr_t)arrived, (uint64_t)(uintptr_t)frame, 1, 2, 3, 4, 5, 6, NULL, 0};
    uint64_t *source = (uint64_t *)(void *)(memory + 256);
    for (int i = 0; i < words_away; i++) {
        source[i] = 1000 + i;
        frame[i] = 0;
    }
    if (words_away) {
        child->source = source;
        child->words = (uint64_t)words_away;
    }
    *(struct child **)(void *)(slot + SLOT_CHILD) = child;
    memset(result, 0, sizeof result);
    steps = 0;
    resume_at(slot - FORK_BYTES - 64, slot - FORK_BYTES - 64);
    CHECK_EQUAL(result[0], (uint64_t)(uintptr_t)frame);
    for (int i = 1; i < 7; i++) {
        CHECK_EQUAL(result[i], (uint64_t)i);
    }
    CHECK_EQUAL((int)result[7], -1);
    for (int i = 0; i < words_away; i++) {
        CHECK_EQUAL(frame[i], (uint64_t)(1000 + i));
    }
    CHECK(steps > 12);
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = step;
    action.sa_flags = SA_SIGINFO;
    CHECK_EQUAL(sigaction(SIGTRAP, &action, NULL), 0);
    start(0);
    start(FAR_WORDS);
    printf("children start whole\n");
    return 0;
}
