// SPDX-License-Identifier: Apache-2.0 OR MIT
// Locks: exclusion, whatever the kind, the way in and the time-out.
#include "stress.h"

// --- spin locks

// One is held with interrupts on, so its holder may be preempted while others spin. Ticket and MCS locks are
// not for that: where a holder can be preempted, so can the next in line. They are held with interrupts off,
// and so is the second one here, which handlers take, too.
static struct {
    hrt_spin_t lock;
    struct region region;
} preempted, quiet;
static struct {
    hrt_ticket_t lock;
    struct region region;
} ticketed[2];
static struct {
    hrt_mcs_t lock;
    struct region region;
} queued[2];

static uint32_t handler_violations;

HRT_HANDLER void pass_in_handler(void) {
    while (hrt_spin_trylock(&quiet.lock) != HRT_OK) {
        __builtin_ia32_pause();
    }
    if (!passed_alone(&quiet.region, 0)) {
        __atomic_store_n(&handler_violations, 1, __ATOMIC_RELAXED);
    }
    hrt_spin_unlock(&quiet.lock);
}

void spin_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = 1 + below(dice, 200), entered = 0;
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t pauses = below(dice, 20);
        if (one_in(dice, 2)) {
            if (one_in(dice, 4)) {
                if (hrt_spin_trylock(&preempted.lock) != HRT_OK) {
                    continue;
                }
            } else {
                hrt_spin_lock(&preempted.lock);
            }
            CHECK(passed_alone(&preempted.region, pauses));
            hrt_spin_unlock(&preempted.lock);
        } else {
            uint64_t state = hrt_irq_disable();
            hrt_spin_lock(&quiet.lock);
            bool alone = passed_alone(&quiet.region, pauses);
            hrt_spin_unlock(&quiet.lock);
            hrt_irq_restore(state);
            CHECK(alone);
        }
        entered++;
        STEP(worker);
    }
    did(worker, entered + 1);
}

// Few: Linux preempts threads whatever they hold, and a busy host virtual CPUs; then each turn waits for the
// next in line.
static uint32_t fair_turns(struct dice *dice) { return 1 + below(dice, 10); }

void ticket_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = fair_turns(dice);
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t which = below(dice, 2), pauses = below(dice, 20);
        bool trying = one_in(dice, 4);
        uint64_t state = hrt_irq_disable();
        bool entered = !trying || hrt_ticket_trylock(&ticketed[which].lock) == HRT_OK;
        if (!trying) {
            hrt_ticket_lock(&ticketed[which].lock);
        }
        bool alone = !entered || passed_alone(&ticketed[which].region, pauses);
        if (entered) {
            hrt_ticket_unlock(&ticketed[which].lock);
        }
        hrt_irq_restore(state);
        CHECK(alone);
        STEP(worker);
    }
    did(worker, turns);
}

void mcs_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = fair_turns(dice);
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t which = below(dice, 2), pauses = below(dice, 20);
        bool trying = one_in(dice, 4);
        hrt_mcs_node_t node;
        uint64_t state = hrt_irq_disable();
        bool entered = !trying || hrt_mcs_trylock(&queued[which].lock, &node) == HRT_OK;
        if (!trying) {
            hrt_mcs_lock(&queued[which].lock, &node);
        }
        bool alone = !entered || passed_alone(&queued[which].region, pauses);
        if (entered) {
            hrt_mcs_unlock(&queued[which].lock, &node);
        }
        hrt_irq_restore(state);
        CHECK(alone);
        STEP(worker);
    }
    did(worker, turns);
}

void spin_finish(void) {
    CHECK_EQUAL(handler_violations, 0);
    check_region(&preempted.region);
    check_region(&quiet.region);
    for (uint32_t which = 0; which < 2; which++) {
        check_region(&ticketed[which].region);
        check_region(&queued[which].region);
    }
}

// --- mutexes

#define KINDS 3

static struct {
    hrt_mutex_t mutex;
    struct region region;
} mutexes[2 * KINDS];

void mutex_prepare(void) {
    for (uint32_t which = 0; which < 2 * KINDS; which++) {
        CHECK_EQUAL(hrt_mutex_init(&mutexes[which].mutex, which % KINDS), HRT_OK);
    }
}

static int lock_somehow(struct dice *dice, hrt_mutex_t *mutex) {
    uint64_t deadline;
    int status;
    switch (below(dice, 4)) {
    case 0:
        status = hrt_mutex_trylock(mutex);
        CHECK(status == HRT_OK || status == HRT_EBUSY);
        return status;
    case 1:
        deadline = soon(dice);
        status = hrt_mutex_lock_until(mutex, deadline);
        CHECK(status == HRT_OK || status == HRT_ETIMEDOUT);
        CHECK(status == HRT_OK || hrt_now_ns() >= deadline);
        return status;
    default:
        CHECK_EQUAL(hrt_mutex_lock(mutex), HRT_OK);
        return HRT_OK;
    }
}

static void hold_mutex(struct dice *dice, uint32_t which) {
    hrt_mutex_t *mutex = &mutexes[which].mutex;
    uint32_t kind = which % KINDS, depth = kind == HRT_MUTEX_RECURSIVE ? below(dice, 3) : 0;
    if (kind == HRT_MUTEX_ERROR_CHECKING) {
        CHECK_EQUAL(hrt_mutex_lock(mutex), HRT_EDEADLK);
    }
    for (uint32_t level = 0; level < depth; level++) {
        CHECK_EQUAL(hrt_mutex_lock(mutex), HRT_OK);
    }
    CHECK(passed_alone(&mutexes[which].region, below(dice, 50)));
    if (one_in(dice, 20)) {
        CHECK_EQUAL(hrt_mutex_destroy(mutex), HRT_EBUSY);
        one_in(dice, 2) ? hrt_thread_yield() : (void)hrt_thread_sleep_until(soon(dice));
    }
    for (uint32_t level = 0; level < depth; level++) {
        CHECK_EQUAL(hrt_mutex_unlock(mutex), HRT_OK);
    }
    CHECK_EQUAL(mutexes[which].region.inside, 0);
}

void mutex_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = 1 + below(dice, 100);
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t which = below(dice, 2 * KINDS);
        STEP(worker);
        if (which % KINDS != HRT_MUTEX_NORMAL && one_in(dice, 8)) {
            CHECK_EQUAL(hrt_mutex_unlock(&mutexes[which].mutex), HRT_EPERM);
        }
        if (lock_somehow(dice, &mutexes[which].mutex) == HRT_OK) {
            hold_mutex(dice, which);
            CHECK_EQUAL(hrt_mutex_unlock(&mutexes[which].mutex), HRT_OK);
        }
    }
    did(worker, turns);
}

void mutex_finish(void) {
    for (uint32_t which = 0; which < 2 * KINDS; which++) {
        check_region(&mutexes[which].region);
        CHECK_EQUAL(hrt_mutex_destroy(&mutexes[which].mutex), HRT_OK);
    }
}

// --- reader-writer locks

static struct {
    hrt_rwlock_t lock;
    struct region region;
    uint32_t readers;
} shared[2];

void rwlock_prepare(void) {
    CHECK_EQUAL(hrt_rwlock_init(&shared[0].lock, 0), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_init(&shared[1].lock, HRT_RWLOCK_PREFER_WRITER), HRT_OK);
}

static bool rwlock_somehow(struct dice *dice, hrt_rwlock_t *lock, bool write) {
    uint64_t deadline;
    int status;
    switch (below(dice, 4)) {
    case 0:
        status = write ? hrt_rwlock_trywrlock(lock) : hrt_rwlock_tryrdlock(lock);
        CHECK(status == HRT_OK || status == HRT_EBUSY);
        return status == HRT_OK;
    case 1:
        deadline = soon(dice);
        status = write ? hrt_rwlock_wrlock_until(lock, deadline) : hrt_rwlock_rdlock_until(lock, deadline);
        CHECK(status == HRT_OK || (status == HRT_ETIMEDOUT && hrt_now_ns() >= deadline));
        return status == HRT_OK;
    default:
        CHECK_EQUAL(write ? hrt_rwlock_wrlock(lock) : hrt_rwlock_rdlock(lock), HRT_OK);
        return true;
    }
}

static void read_shared(struct dice *dice, uint32_t which) {
    __atomic_fetch_add(&shared[which].readers, 1, __ATOMIC_ACQ_REL);
    uint64_t first = shared[which].region.first;
    if (one_in(dice, 10)) {
        hrt_thread_yield();
    }
    CHECK_EQUAL(shared[which].region.inside, 0);
    CHECK_EQUAL(shared[which].region.last, first);
    __atomic_fetch_sub(&shared[which].readers, 1, __ATOMIC_ACQ_REL);
}

void rwlock_round(struct worker *worker) {
    struct dice *dice = &worker->dice;
    uint32_t turns = 1 + below(dice, 100);
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t which = below(dice, 2);
        bool write = one_in(dice, 4);
        STEP(worker);
        if (!rwlock_somehow(dice, &shared[which].lock, write)) {
            continue;
        }
        if (write) {
            CHECK_EQUAL(__atomic_load_n(&shared[which].readers, __ATOMIC_ACQUIRE), 0);
            CHECK(passed_alone(&shared[which].region, below(dice, 50)));
            CHECK_EQUAL(__atomic_load_n(&shared[which].readers, __ATOMIC_ACQUIRE), 0);
        } else {
            read_shared(dice, which);
        }
        CHECK_EQUAL(hrt_rwlock_unlock(&shared[which].lock), HRT_OK);
    }
    did(worker, turns);
}

void rwlock_finish(void) {
    for (uint32_t which = 0; which < 2; which++) {
        check_region(&shared[which].region);
        CHECK_EQUAL(hrt_rwlock_unlock(&shared[which].lock), HRT_EPERM);
        CHECK_EQUAL(hrt_rwlock_destroy(&shared[which].lock), HRT_OK);
    }
}
