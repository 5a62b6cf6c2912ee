// SPDX-License-Identifier: Apache-2.0 OR MIT
// The robust mutexes that a thread holds at its end. They are libc's, in a list that the kernel gives up when
// a thread of the machine ends. A slot that keeps its result for a joiner, and main after pthread_exit(), end
// for POSIX long before: so the same is done here, by the same protocol (get_robust_list(2)).
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "thread.h"

// Bit 0 of a link says that the mutex inherits priorities, too.
static struct robust_list *link_of(struct robust_list *link) {
    return (struct robust_list *)((uintptr_t)link & ~(uintptr_t)1);
}

// The word is free and marked; one waiter goes on to find that out.
static void give_up(uint32_t *word, uint32_t tid) {
    uint32_t value = HRT_LOAD(word, HRT_RELAXED);
    while ((value & FUTEX_TID_MASK) == tid) {
        if (HRT_CAS(word, &value, (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED, HRT_RELEASE)) {
            if ((value & FUTEX_WAITERS) != 0) {
                syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
            }
            return;
        }
    }
}

void hrt_pthread_give_up_robust(void) {
    struct robust_list_head *head = NULL;
    size_t bytes;
    if (syscall(SYS_get_robust_list, 0, &head, &bytes) != 0 || head == NULL) {
        return;
    }
    uint32_t tid = (uint32_t)gettid();
    struct robust_list *pending = link_of(head->list_op_pending);
    struct robust_list *link = link_of(head->list.next);
    for (unsigned count = 0; link != &head->list && count < ROBUST_LIST_LIMIT; count++) {
        // Once given up, the link is the next owner's.
        struct robust_list *next = link_of(link->next);
        if (link != pending) {
            give_up((uint32_t *)((char *)link + head->futex_offset), tid);
        }
        link = next;
    }
    if (pending != NULL) {
        give_up((uint32_t *)((char *)pending + head->futex_offset), tid);
    }
    head->list.next = &head->list;
    head->list_op_pending = NULL;
}
