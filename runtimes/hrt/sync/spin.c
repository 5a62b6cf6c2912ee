// SPDX-License-Identifier: Apache-2.0 OR MIT
// Spin locks: what a thread does that has not got the lock at once.
#include <hadal/hrt/sync.h>

void hrt_spin_lock_slow(hrt_spin_t *lock) {
    do {
        // Reading does not take the line from the others; writing does.
        while (HRT_LOAD(&lock->held, HRT_RELAXED) != 0) {
            HRT_PAUSE();
        }
    } while (HRT_EXCHANGE(&lock->held, 1, HRT_ACQUIRE) != 0);
}

void hrt_ticket_lock_slow(hrt_ticket_t *lock, uint32_t mine) {
    while (HRT_LOAD(&lock->serving, HRT_ACQUIRE) != mine) {
        HRT_PAUSE();
    }
}

void hrt_mcs_lock_slow(hrt_mcs_node_t *previous, hrt_mcs_node_t *node) {
    HRT_STORE(&node->waiting, 1, HRT_RELAXED);
    // From here on the previous holder may let us go.
    HRT_STORE(&previous->next, node, HRT_RELEASE);
    while (HRT_LOAD(&node->waiting, HRT_ACQUIRE) != 0) {
        HRT_PAUSE();
    }
}

void hrt_mcs_unlock_slow(hrt_mcs_t *lock, hrt_mcs_node_t *node) {
    (void)lock;
    hrt_mcs_node_t *next;
    // Somebody is behind us but has not yet said who.
    while ((next = HRT_LOAD(&node->next, HRT_ACQUIRE)) == NULL) {
        HRT_PAUSE();
    }
    HRT_STORE(&next->waiting, 0, HRT_RELEASE);
}
