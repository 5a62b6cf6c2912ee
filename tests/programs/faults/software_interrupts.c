// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// `int n` with every vector that a program may not raise: each is a SIGSEGV at the instruction, and the CPU
// that it happened on goes on as before, whatever faults there next.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { THREADS = 4, ROUNDS = 3, PAGES = 16, PAGE_BYTES = 4096 };

// `int n`, and a return.
static uint8_t *code[256];
static _Thread_local sigjmp_buf back;
static _Thread_local int vector;
static _Thread_local int faults;
static _Thread_local bool jumps;

static void on_fault(int number, siginfo_t *info, void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    CHECK_EQUAL(number, SIGSEGV);
    CHECK_EQUAL(info->si_code, SI_KERNEL);
    CHECK(info->si_addr == NULL);
    CHECK_EQUAL(machine->gregs[REG_RIP], (greg_t)(uintptr_t)code[vector]);
    CHECK_EQUAL(machine->gregs[REG_TRAPNO], 13);
    CHECK_EQUAL(machine->gregs[REG_ERR], vector * 8 + 2);
    faults++;
    if (jumps) {
        siglongjmp(back, 1);
    }
    machine->gregs[REG_RIP] += 2;
}

// Whether a vector is not a program's on Linux and, in ring 0, is neither an exception without an error code
// that the kernel cannot tell from the instruction, nor an interrupt of the machine.
static bool is_refused(int number) {
    static const uint8_t exceptions[] = {0, 1, 2, 3, 4, 6, 16, 19};
    for (size_t i = 0; i < sizeof exceptions; i++) {
        if (number == exceptions[i]) {
            return false;
        }
    }
    return !(number >= 48 && number < 64) && number != 128 && !(number >= 224 && number < 246) &&
           number != 255;
}

static void touch_new_pages(void) {
    char *pages = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (int i = 0; i < PAGES; i++) {
        CHECK_EQUAL(pages[i * PAGE_BYTES], 0);
        pages[i * PAGE_BYTES] = 1;
    }
    CHECK_EQUAL(munmap(pages, PAGES * PAGE_BYTES), 0);
}

static void raise_one(int number) {
    vector = number;
    faults = 0;
    if (sigsetjmp(back, 1) == 0) {
        ((void (*)(void))(uintptr_t)code[number])();
        CHECK(!jumps);
    }
    CHECK_EQUAL(faults, 1);
    touch_new_pages();
}

static void *raise_all(void *argument) {
    (void)argument;
    for (int round = 0; round < ROUNDS; round++) {
        jumps = round % 2 == 0;
        for (int number = 0; number < 256; number++) {
            if (is_refused(number)) {
                raise_one(number);
            }
        }
    }
    return NULL;
}

int main(void) {
    uint8_t *all =
        mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED);
    for (int number = 0; number < 256; number++) {
        code[number] = all + number * 4;
        memcpy(code[number], (uint8_t[]){0xcd, (uint8_t)number, 0xc3}, 3);
    }
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK_EQUAL(sigaction(SIGSEGV, &action, NULL), 0);
    raise_all(NULL);
    printf("one thread: ok\n");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_create(&threads[i], NULL, raise_all, NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
    }
    printf("threads: ok\n");
    return 0;
}
