/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Synchronisation. Objects are plain memory, initialised by their macro or init function; uncontended paths
 * are inline and never enter the kernel, all waiting goes through hrt_wait(). The slow paths are in libhrt
 * (runtimes/hrt/sync), the same source on the kernel and on Linux, and what the model checker runs.
 *
 * Every object but the spin locks knows when it is not one: used before init or after destroy, it gives
 * HRT_EINVAL. destroy of an object in use gives HRT_EBUSY and changes nothing. An object must not be copied.
 * What one thread wrote before it unlocked, signalled, posted or arrived, the thread that this let go on
 * reads. Signals do not end a wait unless the function says so; their handlers run during it.
 *
 * May be called by any thread; of the functions here the wakes (hrt_wake, hrt_sem_post, hrt_cond_signal and
 * hrt_cond_broadcast, hrt_wait_queue_wake) and the spin locks are handler-safe. A spin lock that a handler
 * takes must be held with interrupts off everywhere else.
 */
#ifndef HADAL_HRT_SYNC_H
#define HADAL_HRT_SYNC_H

#include "atomic.h"
#include "calls.h"
#include "layout/sync.h"

HRT_BEGIN

#define HRT_CACHE_LINE 64 /* bytes; what writers of two objects should keep between them */

/* --- waiting on words of memory ------------------------------------------------------------------------- */

static inline int hrt_wait(const uint32_t *word, uint32_t expected, uint64_t deadline_ns, uint32_t flags) {
    return hrt_calls->wait(word, expected, deadline_ns, flags);
}
static inline uint32_t hrt_wake(const uint32_t *word, uint32_t count, uint32_t flags) {
    return hrt_calls->wake(word, count, flags);
}

#define HRT_DEAD 0xdeadc0deu /* what destroy leaves behind; no object's valid state */

/* --- spin locks ----------------------------------------------------------------------------------------- */
/*
 * For critical sections of a few instructions whose holder is not preempted. They never sleep, have no
 * memory of who holds them, and a zeroed one is free.
 */

typedef struct hrt_spin hrt_spin_t;
#define HRT_SPIN_INIT                                                                                        \
    { 0 }

void hrt_spin_lock_slow(hrt_spin_t *lock);

static inline void hrt_spin_init(hrt_spin_t *lock) { HRT_STORE(&lock->held, 0, HRT_RELAXED); }
static inline void hrt_spin_lock(hrt_spin_t *lock) {
    if (HRT_UNLIKELY(HRT_EXCHANGE(&lock->held, 1, HRT_ACQUIRE) != 0)) {
        hrt_spin_lock_slow(lock);
    }
}
/* HRT_EBUSY: somebody holds it. */
static inline int hrt_spin_trylock(hrt_spin_t *lock) {
    return HRT_EXCHANGE(&lock->held, 1, HRT_ACQUIRE) == 0 ? HRT_OK : HRT_EBUSY;
}
static inline void hrt_spin_unlock(hrt_spin_t *lock) { HRT_STORE(&lock->held, 0, HRT_RELEASE); }

/* Ticket lock: in order of arrival; every waiter reads the same line. */
typedef struct {
    uint32_t next;
    uint32_t serving;
} hrt_ticket_t;
#define HRT_TICKET_INIT                                                                                      \
    { 0, 0 }

void hrt_ticket_lock_slow(hrt_ticket_t *lock, uint32_t mine);

static inline void hrt_ticket_init(hrt_ticket_t *lock) {
    HRT_STORE(&lock->next, 0, HRT_RELAXED);
    HRT_STORE(&lock->serving, 0, HRT_RELAXED);
}
static inline void hrt_ticket_lock(hrt_ticket_t *lock) {
    uint32_t mine = HRT_FETCH_ADD(&lock->next, 1, HRT_RELAXED);
    if (HRT_UNLIKELY(HRT_LOAD(&lock->serving, HRT_ACQUIRE) != mine)) {
        hrt_ticket_lock_slow(lock, mine);
    }
}
/* HRT_EBUSY: somebody holds it or waits for it. */
static inline int hrt_ticket_trylock(hrt_ticket_t *lock) {
    uint32_t serving = HRT_LOAD(&lock->serving, HRT_ACQUIRE);
    return HRT_CAS(&lock->next, &serving, serving + 1, HRT_ACQUIRE) ? HRT_OK : HRT_EBUSY;
}
static inline void hrt_ticket_unlock(hrt_ticket_t *lock) {
    HRT_STORE(&lock->serving, HRT_LOAD(&lock->serving, HRT_RELAXED) + 1, HRT_RELEASE);
}

/* MCS lock: in order of arrival, and each waiter spins on a line of its own: the node that it brings, which
 * must stay where it is until the unlock. */
typedef struct hrt_mcs_node {
    struct hrt_mcs_node *next;
    uint32_t waiting;
} hrt_mcs_node_t;
typedef struct {
    hrt_mcs_node_t *tail;
} hrt_mcs_t;
#define HRT_MCS_INIT                                                                                         \
    { NULL }

void hrt_mcs_lock_slow(hrt_mcs_node_t *previous, hrt_mcs_node_t *node);
void hrt_mcs_unlock_slow(hrt_mcs_t *lock, hrt_mcs_node_t *node);

static inline void hrt_mcs_init(hrt_mcs_t *lock) { HRT_STORE(&lock->tail, NULL, HRT_RELAXED); }
static inline void hrt_mcs_lock(hrt_mcs_t *lock, hrt_mcs_node_t *node) {
    HRT_STORE(&node->next, NULL, HRT_RELAXED);
    hrt_mcs_node_t *previous = HRT_EXCHANGE(&lock->tail, node, HRT_ACQ_REL);
    if (HRT_UNLIKELY(previous != NULL)) {
        hrt_mcs_lock_slow(previous, node);
    }
}
/* HRT_EBUSY: somebody holds it. */
static inline int hrt_mcs_trylock(hrt_mcs_t *lock, hrt_mcs_node_t *node) {
    HRT_STORE(&node->next, NULL, HRT_RELAXED);
    hrt_mcs_node_t *free_tail = NULL;
    return HRT_CAS(&lock->tail, &free_tail, node, HRT_ACQ_REL) ? HRT_OK : HRT_EBUSY;
}
static inline void hrt_mcs_unlock(hrt_mcs_t *lock, hrt_mcs_node_t *node) {
    hrt_mcs_node_t *last = node;
    if (HRT_UNLIKELY(!HRT_CAS(&lock->tail, &last, NULL, HRT_RELEASE))) {
        hrt_mcs_unlock_slow(lock, node);
    }
}

/* --- mutex ---------------------------------------------------------------------------------------------- */

typedef struct hrt_mutex hrt_mutex_t;
#define HRT_MUTEX_FREE(kind) (HRT_MUTEX_MAGIC | (uint32_t)(kind) << 4)
#define HRT_MUTEX_HELD 1u
#define HRT_MUTEX_SLEEPERS 2u /* with HELD: the unlock must wake one */
#define HRT_MUTEX_INIT                                                                                       \
    { HRT_MUTEX_FREE(HRT_MUTEX_NORMAL), 0, 0 }
#define HRT_MUTEX_INIT_ERROR_CHECKING                                                                        \
    { HRT_MUTEX_FREE(HRT_MUTEX_ERROR_CHECKING), 0, 0 }
#define HRT_MUTEX_INIT_RECURSIVE                                                                             \
    { HRT_MUTEX_FREE(HRT_MUTEX_RECURSIVE), 0, 0 }

int hrt_mutex_lock_slow(hrt_mutex_t *mutex, uint64_t deadline_ns);
int hrt_mutex_trylock_slow(hrt_mutex_t *mutex);
int hrt_mutex_unlock_slow(hrt_mutex_t *mutex);

/* `kind`: enum hrt_mutex_kind. HRT_EINVAL: no such kind. */
int hrt_mutex_init(hrt_mutex_t *mutex, uint32_t kind);
/* HRT_EBUSY: held; HRT_EINVAL. */
int hrt_mutex_destroy(hrt_mutex_t *mutex);
/* HRT_EDEADLK: the caller holds it (error-checking); HRT_EOVERFLOW: held 2^32 times (recursive);
 * HRT_ETIMEDOUT; HRT_EINVAL. A deadline in the past still takes a free mutex. */
static inline int hrt_mutex_lock_until(hrt_mutex_t *mutex, uint64_t deadline_ns) {
    uint32_t word = HRT_MUTEX_FREE(HRT_MUTEX_NORMAL);
    if (HRT_LIKELY(
            HRT_CAS(&mutex->word, &word, HRT_MUTEX_FREE(HRT_MUTEX_NORMAL) | HRT_MUTEX_HELD, HRT_ACQUIRE))) {
        return HRT_OK;
    }
    return hrt_mutex_lock_slow(mutex, deadline_ns);
}
static inline int hrt_mutex_lock(hrt_mutex_t *mutex) { return hrt_mutex_lock_until(mutex, HRT_FOREVER); }
/* HRT_EBUSY: another thread holds it, or the caller does (all kinds but recursive). */
static inline int hrt_mutex_trylock(hrt_mutex_t *mutex) {
    uint32_t word = HRT_MUTEX_FREE(HRT_MUTEX_NORMAL);
    if (HRT_LIKELY(
            HRT_CAS(&mutex->word, &word, HRT_MUTEX_FREE(HRT_MUTEX_NORMAL) | HRT_MUTEX_HELD, HRT_ACQUIRE))) {
        return HRT_OK;
    }
    return hrt_mutex_trylock_slow(mutex);
}
/* HRT_EPERM: nobody holds it, or (error-checking, recursive) another thread does. A normal mutex does not
 * know its owner: a stranger's unlock frees it. */
static inline int hrt_mutex_unlock(hrt_mutex_t *mutex) {
    uint32_t word = HRT_MUTEX_FREE(HRT_MUTEX_NORMAL) | HRT_MUTEX_HELD;
    if (HRT_LIKELY(HRT_CAS(&mutex->word, &word, HRT_MUTEX_FREE(HRT_MUTEX_NORMAL), HRT_RELEASE))) {
        return HRT_OK;
    }
    return hrt_mutex_unlock_slow(mutex);
}

/* --- reader-writer lock --------------------------------------------------------------------------------- */

typedef struct hrt_rwlock hrt_rwlock_t;
#define HRT_RWLOCK_PREFER_WRITER 1u /* flag of init */

#define HRT_RWLOCK_READERS 0x000fffffull /* how many hold it */
#define HRT_RWLOCK_READERS_MAX 0x0007ffffull
#define HRT_RWLOCK_WRITER 0x00100000ull         /* a writer holds it */
#define HRT_RWLOCK_READERS_ASLEEP 0x00200000ull /* the unlock must wake them */
#define HRT_RWLOCK_WRITERS_FIRST 0x00400000ull  /* made with HRT_RWLOCK_PREFER_WRITER */
#define HRT_RWLOCK_MAGIC_MASK 0xff000000ull
#define HRT_RWLOCK_WRITERS 0x000fffff00000000ull /* how many writers wait */
#define HRT_RWLOCK_ONE_WRITER 0x0000000100000000ull
#define HRT_RWLOCK_WRITERS_ASLEEP 0x0010000000000000ull /* the unlock must wake one */
#define HRT_RWLOCK_INIT                                                                                      \
    { HRT_RWLOCK_MAGIC }
#define HRT_RWLOCK_INIT_PREFER_WRITER                                                                        \
    { HRT_RWLOCK_MAGIC | HRT_RWLOCK_WRITERS_FIRST }

int hrt_rwlock_rdlock_slow(hrt_rwlock_t *lock, uint64_t deadline_ns);
int hrt_rwlock_wrlock_slow(hrt_rwlock_t *lock, uint64_t deadline_ns);
int hrt_rwlock_unlock_slow(hrt_rwlock_t *lock);

/* `flags`: HRT_RWLOCK_*. HRT_EINVAL. */
int hrt_rwlock_init(hrt_rwlock_t *lock, uint32_t flags);
/* HRT_EBUSY: held or waited for; HRT_EINVAL. */
int hrt_rwlock_destroy(hrt_rwlock_t *lock);
/* HRT_EAGAIN: HRT_RWLOCK_READERS_MAX hold it; HRT_ETIMEDOUT; HRT_EINVAL. */
static inline int hrt_rwlock_rdlock_until(hrt_rwlock_t *lock, uint64_t deadline_ns) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    if (HRT_LIKELY((state & ~(HRT_RWLOCK_READERS_MAX >> 1 | HRT_RWLOCK_WRITERS_FIRST)) == HRT_RWLOCK_MAGIC &&
                   HRT_CAS(&lock->state, &state, state + 1, HRT_ACQUIRE))) {
        return HRT_OK;
    }
    return hrt_rwlock_rdlock_slow(lock, deadline_ns);
}
static inline int hrt_rwlock_rdlock(hrt_rwlock_t *lock) { return hrt_rwlock_rdlock_until(lock, HRT_FOREVER); }
/* HRT_ETIMEDOUT; HRT_EINVAL. */
static inline int hrt_rwlock_wrlock_until(hrt_rwlock_t *lock, uint64_t deadline_ns) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    if (HRT_LIKELY((state & ~HRT_RWLOCK_WRITERS_FIRST) == HRT_RWLOCK_MAGIC &&
                   HRT_CAS(&lock->state, &state, state | HRT_RWLOCK_WRITER, HRT_ACQUIRE))) {
        return HRT_OK;
    }
    return hrt_rwlock_wrlock_slow(lock, deadline_ns);
}
static inline int hrt_rwlock_wrlock(hrt_rwlock_t *lock) { return hrt_rwlock_wrlock_until(lock, HRT_FOREVER); }
/* HRT_EBUSY: not without waiting. */
int hrt_rwlock_tryrdlock(hrt_rwlock_t *lock);
int hrt_rwlock_trywrlock(hrt_rwlock_t *lock);
/* Ends the caller's read or write lock. HRT_EPERM: nobody holds it; HRT_EINVAL. Who holds it is not known: a
 * stranger's unlock takes effect. */
static inline int hrt_rwlock_unlock(hrt_rwlock_t *lock) {
    uint64_t state = HRT_LOAD(&lock->state, HRT_RELAXED);
    if (HRT_LIKELY((state & ~(HRT_RWLOCK_READERS | HRT_RWLOCK_WRITERS_FIRST)) == HRT_RWLOCK_MAGIC &&
                   (state & HRT_RWLOCK_READERS) != 0 &&
                   HRT_CAS(&lock->state, &state, state - 1, HRT_RELEASE))) {
        return HRT_OK;
    }
    return hrt_rwlock_unlock_slow(lock);
}

/* --- wait queue ----------------------------------------------------------------------------------------- */

/*
 * Threads that wait for something to become true, without a lock:
 *
 *     waiter:  hrt_wait_queue_prepare(&queue, &ticket);       waker:  ready = true;   (atomic)
 *              if (ready)                                              hrt_wait_queue_wake(&queue, 1, 0);
 *                  hrt_wait_queue_cancel(&queue);
 *              else
 *                  status = hrt_wait_queue_wait(&queue, ticket, deadline_ns);
 *
 * A wake after the prepare ends the wait, whenever it comes; so none is lost. wait may also end with HRT_OK
 * for no reason: look again.
 */
typedef struct hrt_wait_queue hrt_wait_queue_t;
#define HRT_WAIT_QUEUE_WAITERS 0x000fffffu
#define HRT_WAIT_QUEUE_INIT                                                                                  \
    { 0, HRT_WAIT_QUEUE_MAGIC }

int hrt_wait_queue_wake_slow(hrt_wait_queue_t *queue, uint32_t count, uint32_t flags);

void hrt_wait_queue_init(hrt_wait_queue_t *queue);
/* HRT_EBUSY: threads wait, or are just leaving; HRT_EINVAL. */
int hrt_wait_queue_destroy(hrt_wait_queue_t *queue);
/* Announces a wait, which must follow, or cancel. HRT_EINVAL. */
int hrt_wait_queue_prepare(hrt_wait_queue_t *queue, uint32_t *ticket);
void hrt_wait_queue_cancel(hrt_wait_queue_t *queue);
/* HRT_ETIMEDOUT; HRT_EINTR: a signal handler ran. */
int hrt_wait_queue_wait(hrt_wait_queue_t *queue, uint32_t ticket, uint64_t deadline_ns);
/* Waits until predicate(arg) is true, which is asked by the calling thread only. HRT_ETIMEDOUT; HRT_EINVAL.
 */
int hrt_wait_queue_wait_for(hrt_wait_queue_t *queue, bool (*predicate)(void *arg), void *arg,
                            uint64_t deadline_ns);
/* Wakes up to `count` waiters, the most urgent first, of equals the oldest (HRT_WAKE_ALL: all); `flags`:
 * HRT_WAKE_*. HRT_EINVAL. */
static inline int hrt_wait_queue_wake(hrt_wait_queue_t *queue, uint32_t count, uint32_t flags) {
    /* What was written before must be visible to whoever prepares after we have seen no waiter. */
    HRT_FENCE(HRT_SEQ_CST);
    if (HRT_LIKELY(HRT_LOAD(&queue->state, HRT_RELAXED) == HRT_WAIT_QUEUE_MAGIC)) {
        return HRT_OK;
    }
    return hrt_wait_queue_wake_slow(queue, count, flags);
}

/* --- condition variable --------------------------------------------------------------------------------- */

typedef struct hrt_cond hrt_cond_t;
#define HRT_COND_INIT                                                                                        \
    { HRT_WAIT_QUEUE_INIT }

static inline void hrt_cond_init(hrt_cond_t *cond) { hrt_wait_queue_init(&cond->queue); }
/* HRT_EBUSY: threads wait, or have been woken and are just leaving; HRT_EINVAL. */
static inline int hrt_cond_destroy(hrt_cond_t *cond) { return hrt_wait_queue_destroy(&cond->queue); }
/* Unlocks the mutex (a recursive one wholly), waits, and locks it again, also when it returns HRT_ETIMEDOUT.
 * HRT_OK may come for no reason: look again. HRT_EPERM: the caller does not hold the mutex; HRT_EINVAL. */
int hrt_cond_wait_until(hrt_cond_t *cond, hrt_mutex_t *mutex, uint64_t deadline_ns);
static inline int hrt_cond_wait(hrt_cond_t *cond, hrt_mutex_t *mutex) {
    return hrt_cond_wait_until(cond, mutex, HRT_FOREVER);
}
/* Wakes one waiter, the oldest; all at once. `flags`: HRT_WAKE_KICK or HRT_WAKE_NO_KICK. With the mutex held
 * or not; not held is faster, as the woken thread needs it. HRT_EINVAL. */
static inline int hrt_cond_signal(hrt_cond_t *cond, uint32_t flags) {
    return hrt_wait_queue_wake(&cond->queue, 1, flags);
}
static inline int hrt_cond_broadcast(hrt_cond_t *cond, uint32_t flags) {
    return hrt_wait_queue_wake(&cond->queue, HRT_WAKE_ALL, flags);
}

/* --- semaphore ------------------------------------------------------------------------------------------ */

typedef struct hrt_sem hrt_sem_t;
#define HRT_SEM_ONE_WAITER 0x0000000100000000ull
#define HRT_SEM_WAITERS 0x000fffff00000000ull
#define HRT_SEM_MAGIC_MASK 0xfff0000000000000ull
#define HRT_SEM_INIT(value)                                                                                  \
    { HRT_SEM_MAGIC | (uint32_t)(value) }

int hrt_sem_post_slow(hrt_sem_t *sem);

/* HRT_EINVAL: more than HRT_SEM_MAX. */
int hrt_sem_init(hrt_sem_t *sem, uint32_t value);
/* HRT_EBUSY: threads wait; HRT_EINVAL. */
int hrt_sem_destroy(hrt_sem_t *sem);
/* HRT_EAGAIN: the value is 0; HRT_EINVAL. */
static inline int hrt_sem_trywait(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    while (HRT_LIKELY((state & HRT_SEM_MAGIC_MASK) == HRT_SEM_MAGIC)) {
        if ((uint32_t)state == 0) {
            return HRT_EAGAIN;
        }
        if (HRT_CAS(&sem->state, &state, state - 1, HRT_ACQUIRE)) {
            return HRT_OK;
        }
    }
    return HRT_EINVAL;
}
/* Waits for the value to be positive and takes one. HRT_EINTR: a signal handler ran; HRT_ETIMEDOUT;
 * HRT_EINVAL. A deadline in the past still takes what is there. */
int hrt_sem_wait_interruptible(hrt_sem_t *sem, uint64_t deadline_ns);
/* The same, but waits on after signal handlers. */
static inline int hrt_sem_wait_until(hrt_sem_t *sem, uint64_t deadline_ns) {
    int status = hrt_sem_trywait(sem);
    while (HRT_UNLIKELY(status == HRT_EAGAIN || status == HRT_EINTR)) {
        status = hrt_sem_wait_interruptible(sem, deadline_ns);
    }
    return status;
}
static inline int hrt_sem_wait(hrt_sem_t *sem) { return hrt_sem_wait_until(sem, HRT_FOREVER); }
/* HRT_EOVERFLOW: the value is HRT_SEM_MAX; HRT_EINVAL. */
static inline int hrt_sem_post(hrt_sem_t *sem) {
    uint64_t state = HRT_LOAD(&sem->state, HRT_RELAXED);
    if (HRT_LIKELY((state & ~(uint64_t)(HRT_SEM_MAX >> 1)) == HRT_SEM_MAGIC &&
                   HRT_CAS(&sem->state, &state, state + 1, HRT_RELEASE))) {
        return HRT_OK;
    }
    return hrt_sem_post_slow(sem);
}
/* The value, as of the call. HRT_EINVAL. */
int hrt_sem_value(hrt_sem_t *sem, uint32_t *value);

/* --- barrier -------------------------------------------------------------------------------------------- */

enum hrt_barrier_algorithm {
    HRT_BARRIER_CENTRAL = 0,       /* one counter: best for few participants; needs no memory of its own */
    HRT_BARRIER_DISSEMINATION = 1, /* log2(n) rounds of pairs, no line shared by more than two */
    HRT_BARRIER_TREE = 2           /* counters by core, socket and zone: few transfers between sockets */
};

#define HRT_BARRIER_RANKS_MAX 16384 /* participants of the latter two */
#define HRT_BARRIER_SERIAL (-1)     /* what wait returns to one participant of each episode */

/* One counter of a barrier, and the word its waiters sleep on. */
struct hrt_barrier_station {
    uint64_t state; /* lower half: how many have arrived; upper: episode << 1 and "somebody sleeps" */
    uint32_t need;  /* arrivals that complete an episode */
    struct hrt_barrier_station *parent;
    uint32_t left __attribute__((aligned(HRT_CACHE_LINE))); /* departures, of all episodes */
} __attribute__((aligned(HRT_CACHE_LINE)));

/* What one rank of a dissemination barrier waits on: a line of its own. */
struct hrt_barrier_rank {
    uint32_t episode;   /* that the rank has entered last */
    uint32_t left;      /* that it has left last */
    uint32_t heard[14]; /* by round: last episode in which the partner came, << 1, and "somebody sleeps" */
} __attribute__((aligned(HRT_CACHE_LINE)));

/* Participants that are more than the CPUs sleep at once; else they spin for a bounded while first. */
typedef struct {
    uint32_t magic;
    uint32_t participants;
    uint32_t algorithm;
    uint32_t rounds;   /* dissemination: log2(participants), rounded up */
    uint64_t arrivals; /* of hrt_barrier_wait(): gives out the ranks of an episode */
    struct hrt_barrier_rank *ranks;
    struct hrt_barrier_station *stations; /* tree: all but the root */
    uint32_t station_count;
    uint16_t *leaves;                /* tree: station of each rank; the root has the number station_count */
    struct hrt_barrier_station root; /* central: the only one */
} hrt_barrier_t;
#define HRT_BARRIER_MAGIC 0x42415252u
/* A central barrier. */
#define HRT_BARRIER_INIT(count)                                                                              \
    {                                                                                                        \
        HRT_BARRIER_MAGIC, (count), HRT_BARRIER_CENTRAL, 0, 0, NULL, NULL, 0, NULL, { 0, (count), NULL, 0 }  \
    }

/*
 * `cpus` names the CPU of each rank for the tree; NULL: rank i runs on CPU i, modulo their number.
 * HRT_EINVAL: no participants, more than HRT_BARRIER_RANKS_MAX (not central), no such algorithm or CPU;
 * HRT_ENOMEM.
 */
int hrt_barrier_init(hrt_barrier_t *barrier, uint32_t participants, uint32_t algorithm, const uint32_t *cpus);
/* HRT_EBUSY: threads wait, or the episode is over and they are just leaving; HRT_EINVAL. */
int hrt_barrier_destroy(hrt_barrier_t *barrier);
/* Waits until all participants have come. HRT_OK, or HRT_BARRIER_SERIAL for one of them; HRT_EINVAL. */
int hrt_barrier_wait(hrt_barrier_t *barrier);
/* The same for participants that have ranks from 0 without gaps and always bring their own: dissemination and
 * tree then share no line among all, and the tree follows the topology. Not to be mixed with
 * hrt_barrier_wait() on one barrier. HRT_EINVAL: no such rank. */
int hrt_barrier_wait_rank(hrt_barrier_t *barrier, uint32_t rank);

/* --- once ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t state;
} hrt_once_t;
#define HRT_ONCE_NEW 0x4f4e4300u
#define HRT_ONCE_RUNNING 0x4f4e4301u
#define HRT_ONCE_SLEEPERS 0x4f4e4302u /* running, and threads sleep until it is done */
#define HRT_ONCE_DONE 0x4f4e4303u
#define HRT_ONCE_INIT                                                                                        \
    { HRT_ONCE_NEW }

#define HRT_ONCE_YOURS (-1) /* result of hrt_once_begin */

/* The parts of hrt_once_call(): begin says HRT_OK, it is done, or HRT_ONCE_YOURS: the caller does the work
 * and then calls hrt_once_end(), or hrt_once_abandon() if the work failed; that hands it to the next caller.
 * HRT_EINVAL; the latter two HRT_EPERM: nobody has begun. */
int hrt_once_begin(hrt_once_t *once);
int hrt_once_end(hrt_once_t *once);
int hrt_once_abandon(hrt_once_t *once);
/* Calls fn(arg) if nobody has; returns when somebody has. HRT_EINVAL. */
static inline int hrt_once_call(hrt_once_t *once, void (*fn)(void *arg), void *arg) {
    if (HRT_LIKELY(HRT_LOAD(&once->state, HRT_ACQUIRE) == HRT_ONCE_DONE)) {
        return HRT_OK;
    }
    int status = hrt_once_begin(once);
    if (status == HRT_ONCE_YOURS) {
        fn(arg);
        status = hrt_once_end(once);
    }
    return status;
}

HRT_END

#endif
