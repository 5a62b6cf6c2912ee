// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Lists of robust locks as the kernel reads them when a thread ends: empty ones, one lock that is about to be
// taken or given up, one that is held, and heads that cannot be read.

#define _GNU_SOURCE
#include "../common/check.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

// Of linux/futex.h, which musl's compiler wrapper does not find.
struct list {
    struct list *next;
};
struct list_head {
    struct list list;
    long futex_offset;
    struct list *pending;
};
static const uint32_t OWNER_DIED = 0x40000000;

struct lock {
    struct list list;
    uint32_t word;
};

enum kind { EMPTY, PENDING, HELD, BOTH, PENDING_OF_OTHERS, NOWHERE, CUT_OFF, KINDS };
static const char *const names[KINDS] = {"empty",   "pending", "held", "both", "pending of others",
                                         "nowhere", "cut off"};

static struct list_head *cut_off; // the list is the last word of a page, and nothing comes behind

struct test {
    enum kind kind;
    struct list_head head;
    struct lock locks[2];
};

static void *end(void *argument) {
    struct test *test = argument;
    uint32_t self = (uint32_t)syscall(SYS_gettid);
    struct list_head *head = &test->head;
    *head =
        (struct list_head){{&head->list}, offsetof(struct lock, word) - offsetof(struct lock, list), NULL};
    test->locks[0].word = test->locks[1].word = self;
    switch (test->kind) {
    case HELD:
    case BOTH:
        test->locks[0].list.next = &head->list;
        head->list.next = &test->locks[0].list;
        head->pending = test->kind == BOTH ? &test->locks[1].list : NULL;
        break;
    case PENDING_OF_OTHERS:
        test->locks[1].word = 1;
        head->pending = &test->locks[1].list;
        break;
    case PENDING:
        head->pending = &test->locks[1].list;
        break;
    case NOWHERE:
        head = (struct list_head *)8;
        break;
    case CUT_OFF:
        head = cut_off;
        head->list.next = &head->list;
        break;
    default:
        break;
    }
    // The C library's own list is empty, and its head goes with the thread.
    CHECK_EQUAL(syscall(SYS_set_robust_list, head, sizeof *head), 0);
    return NULL;
}

int main(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_EQUAL(munmap(pages + 4096, 4096), 0);
    cut_off = (struct list_head *)(pages + 4096 - sizeof(struct list));
    for (int kind = 0; kind < KINDS; kind++) {
        static struct test test;
        test.kind = (enum kind)kind;
        pthread_t thread;
        CHECK_EQUAL(pthread_create(&thread, NULL, end, &test), 0);
        CHECK_EQUAL(pthread_join(thread, NULL), 0);
        printf("%s:", names[kind]);
        for (int lock = 0; lock < 2; lock++) {
            printf(" %s", (test.locks[lock].word & OWNER_DIED) != 0 ? "ownerless" : "as it was");
        }
        printf("\n");
    }
    return 0;
}
