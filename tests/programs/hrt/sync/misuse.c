// SPDX-License-Identifier: Apache-2.0 OR MIT
// Objects that are none, or none any more, or in use: a documented error and no change.
#include "parts.h"

// What every function says about an object that was never initialised (all zero) or has been destroyed.
static void refuse_all(hrt_mutex_t *mutex, hrt_rwlock_t *rwlock, hrt_cond_t *cond, hrt_sem_t *sem,
                       hrt_barrier_t *barrier) {
    hrt_mutex_t good = HRT_MUTEX_INIT;
    uint32_t number;
    CHECK_EQUAL(hrt_mutex_lock(mutex), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_trylock(mutex), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_lock_until(mutex, 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_unlock(mutex), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_destroy(mutex), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_rdlock(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_wrlock(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_tryrdlock(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_trywrlock(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_unlock(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_destroy(rwlock), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_lock(&good), HRT_OK);
    CHECK_EQUAL(hrt_cond_wait(cond, &good), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_trylock(&good), HRT_EBUSY);
    CHECK_EQUAL(hrt_cond_signal(cond, HRT_WAKE_KICK), HRT_EINVAL);
    CHECK_EQUAL(hrt_cond_broadcast(cond, HRT_WAKE_NO_KICK), HRT_EINVAL);
    CHECK_EQUAL(hrt_cond_destroy(cond), HRT_EINVAL);
    CHECK_EQUAL(hrt_wait_queue_prepare(&cond->queue, &number), HRT_EINVAL);
    CHECK_EQUAL(hrt_wait_queue_wake(&cond->queue, 1, HRT_WAKE_KICK), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_wait(sem), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_trywait(sem), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_wait_interruptible(sem, 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_post(sem), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_value(sem, &number), HRT_EINVAL);
    CHECK_EQUAL(hrt_sem_destroy(sem), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_wait(barrier), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_wait_rank(barrier, 0), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_destroy(barrier), HRT_EINVAL);
}

static hrt_mutex_t mutex;
static hrt_rwlock_t rwlock;
static hrt_cond_t cond;
static hrt_sem_t sem;
static hrt_barrier_t barrier;

void misuse(void) {
    hrt_once_t once = {0};
    refuse_all(&mutex, &rwlock, &cond, &sem, &barrier);
    CHECK_EQUAL(hrt_once_call(&once, NULL, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_once_end(&once), HRT_EINVAL);
    CHECK_EQUAL(hrt_once_abandon(&once), HRT_EINVAL);
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_RECURSIVE + 1), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_init(&rwlock, 2), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_init(&barrier, 0, HRT_BARRIER_CENTRAL, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_init(&barrier, 1, HRT_BARRIER_TREE + 1, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_barrier_init(&barrier, HRT_BARRIER_RANKS_MAX + 1, HRT_BARRIER_TREE, NULL), HRT_EINVAL);
    CHECK_EQUAL(hrt_rwlock_init(&rwlock, 0), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_EPERM);
}

static void initialise(void) {
    CHECK_EQUAL(hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_init(&rwlock, 0), HRT_OK);
    hrt_cond_init(&cond);
    CHECK_EQUAL(hrt_sem_init(&sem, 0), HRT_OK);
    CHECK_EQUAL(hrt_barrier_init(&barrier, 2, HRT_BARRIER_DISSEMINATION, NULL), HRT_OK);
}

void destroyed(void) {
    initialise();
    CHECK_EQUAL(hrt_mutex_destroy(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_destroy(&rwlock), HRT_OK);
    CHECK_EQUAL(hrt_cond_destroy(&cond), HRT_OK);
    CHECK_EQUAL(hrt_sem_destroy(&sem), HRT_OK);
    CHECK_EQUAL(hrt_barrier_destroy(&barrier), HRT_OK);
    refuse_all(&mutex, &rwlock, &cond, &sem, &barrier);
}

static void *wait_for(void *number) {
    switch ((uintptr_t)number) {
    case 0:
        CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
        CHECK_EQUAL(hrt_cond_wait(&cond, &mutex), HRT_OK);
        CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
        break;
    case 1:
        CHECK_EQUAL(hrt_sem_wait(&sem), HRT_OK);
        break;
    default:
        CHECK(hrt_barrier_wait(&barrier) != HRT_EINVAL);
    }
    return NULL;
}

// Each destroy is refused while a thread waits, and the wait goes on.
void busy(void) {
    hrt_thread_t threads[3];
    initialise();
    for (uintptr_t number = 0; number < 3; number++) {
        CHECK_EQUAL(hrt_thread_create(&threads[number], NULL, wait_for, (void *)number), HRT_OK);
    }
    // Their waits have begun when the objects say so.
    while (__atomic_load_n(&cond.queue.state, __ATOMIC_ACQUIRE) == HRT_WAIT_QUEUE_MAGIC ||
           __atomic_load_n(&sem.state, __ATOMIC_ACQUIRE) == HRT_SEM_MAGIC ||
           __atomic_load_n(&barrier.arrivals, __ATOMIC_ACQUIRE) == 0) {
        hrt_thread_yield();
    }
    CHECK_EQUAL(hrt_cond_destroy(&cond), HRT_EBUSY);
    CHECK_EQUAL(hrt_sem_destroy(&sem), HRT_EBUSY);
    CHECK_EQUAL(hrt_barrier_destroy(&barrier), HRT_EBUSY);
    CHECK_EQUAL(hrt_mutex_lock(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_mutex_destroy(&mutex), HRT_EBUSY);
    CHECK_EQUAL(hrt_mutex_unlock(&mutex), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_rdlock(&rwlock), HRT_OK);
    CHECK_EQUAL(hrt_rwlock_destroy(&rwlock), HRT_EBUSY);
    CHECK_EQUAL(hrt_rwlock_unlock(&rwlock), HRT_OK);
    CHECK_EQUAL(hrt_cond_signal(&cond, HRT_WAKE_KICK), HRT_OK);
    CHECK_EQUAL(hrt_sem_post(&sem), HRT_OK);
    CHECK(hrt_barrier_wait(&barrier) != HRT_EINVAL);
    for (unsigned number = 0; number < 3; number++) {
        CHECK_EQUAL(hrt_thread_join(threads[number], NULL), HRT_OK);
    }
    destroyed();
}
