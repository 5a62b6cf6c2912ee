// SPDX-License-Identifier: Apache-2.0 OR MIT
// Spin locks, mutexes, reader-writer locks.
#include "parts.h"

#define ROUNDS 2000

static hrt_spin_t spin = HRT_SPIN_INIT;
static hrt_ticket_t ticket = HRT_TICKET_INIT;
static hrt_mcs_t mcs = HRT_MCS_INIT;
static long counts[3];

static void *spin_work(void *unused) {
    hrt_mcs_node_t node;
    // Few rounds: a preempted holder costs the others their slice.
    for (int round = 0; round < ROUNDS / 10; round++) {
        hrt_spin_lock(&spin);
        counts[0]++;
        hrt_spin_unlock(&spin);
        hrt_ticket_lock(&ticket);
        counts[1]++;
        hrt_ticket_unlock(&ticket);
        hrt_mcs_lock(&mcs, &node);
        counts[2]++;
        hrt_mcs_unlock(&mcs, &node);
    }
    return unused;
}

void spin_locks(void) {
    hrt_mcs_node_t mine, other;
    hrt_spin_init(&spin);
    hrt_ticket_init(&ticket);
    hrt_mcs_init(&mcs);
    in_threads(2, spin_work);
    for (int kind = 0; kind < 3; kind++) {
        CHECK_EQUAL(counts[kind], 2 * ROUNDS / 10);
    }
    CHECK_EQUAL(hrt_spin_trylock(&spin), HRT_OK);
    CHECK_EQUAL(hrt_spin_trylock(&spin), HRT_EBUSY);
    hrt_spin_unlock(&spin);
    CHECK_EQUAL(hrt_ticket_trylock(&ticket), HRT_OK);
    CHECK_EQUAL(hrt_ticket_trylock(&ticket), HRT_EBUSY);
    hrt_ticket_unlock(&ticket);
    CHECK_EQUAL(hrt_ticket_trylock(&ticket), HRT_OK);
    hrt_ticket_unlock(&ticket);
    CHECK_EQUAL(hrt_mcs_trylock(&mcs, &mine), HRT_OK);
    CHECK_EQUAL(hrt_mcs_trylock(&mcs, &other), HRT_EBUSY);
    hrt_mcs_unlock(&mcs, &mine);
    CHECK_EQUAL(hrt_mcs_trylock(&mcs, &other), HRT_OK);
    hrt_mcs_unlock(&mcs, &other);
}

static hrt_mutex_t mutex = HRT_MUTEX_INIT;
static long count;

static void *mutex_work(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
        count++;
        CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    }
    return unused;
}

static void *mutex_try(void *unused) {
    CHECK_EQUAL(hrt_mutex_trylock(&mutex), HRT_EBUSY);
    CHECK_EQUAL(hrt_mutex_lock_until(&mutex, in_ms(5)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_mutex_lock_until(&mutex, 0), HRT_ETIMEDOUT);
    return unused;
}

void mutexes(void) {
    in_threads(THREADS, mutex_work);
    CHECK_EQUAL(count, THREADS * ROUNDS);
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_RECURSIVE), HRT_OK);
    in_threads(THREADS, mutex_work);
    CHECK_EQUAL(count, 2 * THREADS * ROUNDS);
    CHECK_EQUAL(hrt_mutex_destroy(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL), HRT_OK);
}

static void *stranger(void *unused) {
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_EPERM);
    CHECK_EQUAL(hrt_mutex_trylock(&mutex), HRT_EBUSY);
    return unused;
}

static void *any_unlock(void *unused) {
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    return unused;
}

void mutex_kinds(void) {
    static hrt_mutex_t recursive = HRT_MUTEX_INIT_RECURSIVE;
    static hrt_mutex_t checking = HRT_MUTEX_INIT_ERROR_CHECKING;
    mutex = recursive;
    for (int depth = 0; depth < 3; depth++) {
        CHECK_EQUAL(depth == 1 ? hrt_mutex_trylock(&mutex) : hrt_mutex_lock(&mutex), HRT_OK);
    }
    in_threads(1, stranger);
    for (int depth = 0; depth < 3; depth++) {
        CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    }
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_EPERM);
    mutex = checking;
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_EDEADLK);
    CHECK_EQUAL(hrt_mutex_lock_until(&mutex, in_ms(1)), HRT_EDEADLK);
    CHECK_EQUAL(hrt_mutex_trylock(&mutex), HRT_EBUSY);
    in_threads(1, stranger);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_EPERM);
    // A normal mutex does not know whose it is.
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL), HRT_OK);
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    in_threads(1, any_unlock);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_EPERM);
}

void mutex_time_outs(void) {
    for (uint32_t kind = HRT_MUTEX_NORMAL; kind <= HRT_MUTEX_RECURSIVE; kind++) {
        CHECK_EQUAL(hrt_mutex_init(&mutex, kind), HRT_OK);
        CHECK_EQUAL(hrt_mutex_lock_until(&mutex, 0), HRT_OK);
        in_threads(2, mutex_try);
        CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
        CHECK_EQUAL(hrt_mutex_trylock(&mutex), HRT_OK);
        CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    }
    // One's own normal mutex is nobody's either.
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL), HRT_OK);
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_mutex_lock_until(&mutex, in_ms(2)), HRT_ETIMEDOUT);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
}

static hrt_rwlock_t rwlock = HRT_RWLOCK_INIT;
static long pair[2];

static void *rwlock_work(void *number) {
    for (int round = 0; round < ROUNDS; round++) {
        if ((round + (uintptr_t)number) % 4 == 0) {
            CHECK_EQUAL(hrt_rwlock_wrlock(&rwlock), HRT_OK);
            pair[0]++;
            pair[1]++;
        } else {
            CHECK_EQUAL(hrt_rwlock_rdlock(&rwlock), HRT_OK);
            CHECK_EQUAL(pair[0], pair[1]);
        }
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
    }
    return NULL;
}

void rwlocks(void) {
    for (uint32_t flags = 0; flags <= HRT_RWLOCK_PREFER_WRITER; flags++) {
        pair[0] = pair[1] = 0;
        CHECK_EQUAL(hrt_rwlock_init(&rwlock, flags), HRT_OK);
        in_threads(THREADS, rwlock_work);
        CHECK_EQUAL(pair[0], THREADS * ROUNDS / 4);
        CHECK_EQUAL(hrt_rwlock_rdlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_tryrdlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_trywrlock(&rwlock), HRT_EBUSY);
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_trywrlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_tryrdlock(&rwlock), HRT_EBUSY);
        CHECK_EQUAL(hrt_rwlock_trywrlock(&rwlock), HRT_EBUSY);
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_destroy(&rwlock), HRT_OK);
    }
}

static void *impatient_writer(void *unused) {
    CHECK_EQUAL(hrt_rwlock_wrlock_until(&rwlock, in_ms(10)), HRT_ETIMEDOUT);
    return unused;
}

static void *patient_reader(void *unused) {
    // Behind the writer at first; once that has given up, beside the reader that was there before.
    CHECK_EQUAL(hrt_rwlock_rdlock(&rwlock), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
    return unused;
}

static void *impatient_reader(void *unused) {
    CHECK_EQUAL(hrt_rwlock_rdlock_until(&rwlock, in_ms(5)), HRT_ETIMEDOUT);
    return unused;
}

static void *writer_or_reader(void *number) {
    return number == NULL ? impatient_writer(number) : patient_reader(number);
}

void rwlock_time_outs(void) {
    for (uint32_t flags = 0; flags <= HRT_RWLOCK_PREFER_WRITER; flags++) {
        CHECK_EQUAL(hrt_rwlock_init(&rwlock, flags), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_rdlock_until(&rwlock, 0), HRT_OK);
        in_threads(3, writer_or_reader);
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_wrlock_until(&rwlock, 0), HRT_OK);
        in_threads(2, impatient_reader);
        in_threads(2, impatient_writer);
        CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
        CHECK_EQUAL(hrt_rwlock_destroy(&rwlock), HRT_OK);
    }
}
