// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// System calls with the stack pointer at memory that is not mapped, as a detached thread of musl makes them
// after it has unmapped its own stack; also at a page without access, at null, and at a non-canonical
// address.

#define _GNU_SOURCE
#include "../common/check.h"
#include "registers.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

static void all_calls(const char *where, uint64_t stack) {
    static struct timespec moment = {0, 200000};
    static uint32_t word = 5;
    for (int i = 0; i < 20; i++) {
        CHECK_EQUAL(call_on_stack(SYS_getpid, 0, 0, 0, stack), getpid());
        CHECK_EQUAL(call_on_stack(SYS_sched_yield, 0, 0, 0, stack), 0);
        CHECK_EQUAL(call_on_stack(SYS_nanosleep, (long)&moment, 0, 0, stack), 0);
        CHECK_EQUAL(call_on_stack(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 6, stack), -EAGAIN);
        CHECK_EQUAL(call_on_stack(9999, 0, 0, 0, stack), -ENOSYS);
        void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page != MAP_FAILED);
        // Unmaps the very page under the stack pointer.
        CHECK_EQUAL(call_on_stack(SYS_munmap, (long)page, 8192, 0, (uint64_t)page + 8192 - 256), 0);
    }
    printf("stack pointer at %s: ok\n", where);
}

int main(void) {
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    char *barred = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(barred != MAP_FAILED);
    CHECK_EQUAL(munmap(page, 4096), 0);
    all_calls("an unmapped page", (uint64_t)page + 2048);
    all_calls("a page without access", (uint64_t)barred + 2048);
    all_calls("null", 0);
    all_calls("a non-canonical address", 0x8000123400000000u);
    all_calls("an odd address", (uint64_t)page + 1001);
    return 0;
}
