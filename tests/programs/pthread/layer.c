// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a pthread library does behind the functions: threads that are used again look new, results wait for
// their joiner, cancellation reaches every wait and undoes it, static initialisers work, main may end first.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include "../common/check.h"

#define ROUNDS 40
#define THREADS 6

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;

static struct timespec in_ms(clockid_t clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    long nanoseconds = time.tv_nsec + milliseconds * 1000000;
    time.tv_sec += nanoseconds / 1000000000;
    time.tv_nsec = nanoseconds % 1000000000;
    return time;
}

static pthread_t start(void *(*fn)(void *), void *arg) {
    pthread_t thread;
    CHECK_EQUAL(pthread_create(&thread, NULL, fn, arg), 0);
    return thread;
}

static void *join(pthread_t thread) {
    void *result = NULL;
    CHECK_EQUAL(pthread_join(thread, &result), 0);
    return result;
}

// --- threads that are used again

static __thread int local = 7;
static pthread_key_t key;
static int destroyed;

static void destroy(void *value) {
    // Sets it again once: a second round follows.
    if (value == &destroyed) {
        CHECK_EQUAL(pthread_setspecific(key, &local), 0);
    }
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void *looks_new(void *number) {
    sigset_t blocked;
    char name[32];
    int state, type;
    CHECK_EQUAL(local, 7);
    CHECK(pthread_getspecific(key) == NULL);
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    CHECK_EQUAL(sigismember(&blocked, SIGUSR1), 0);
    CHECK_EQUAL(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state), 0);
    CHECK_EQUAL(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type), 0);
    CHECK_EQUAL(state, PTHREAD_CANCEL_ENABLE);
    CHECK_EQUAL(type, PTHREAD_CANCEL_DEFERRED);
    CHECK_EQUAL(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    CHECK(strcmp(name, "changed") != 0);
    // What the next must not see.
    local = 8;
    sigaddset(&blocked, SIGUSR1);
    CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &blocked, NULL), 0);
    CHECK_EQUAL(pthread_setspecific(key, &destroyed), 0);
    CHECK_EQUAL(pthread_setname_np(pthread_self(), "changed"), 0);
    if ((long)number % 2 == 0) {
        pthread_exit(number);
    }
    return number;
}

static void reuse(void) {
    pthread_t threads[THREADS];
    CHECK_EQUAL(pthread_key_create(&key, destroy), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (long number = 0; number < THREADS; number++) {
            threads[number] = start(looks_new, (void *)number);
        }
        for (long number = 0; number < THREADS; number++) {
            for (long other = 0; other < number; other++) {
                CHECK(!pthread_equal(threads[number], threads[other]));
            }
        }
        for (long number = 0; number < THREADS; number++) {
            CHECK_EQUAL((long)join(threads[number]), number);
        }
    }
    CHECK_EQUAL(destroyed, 2 * ROUNDS * THREADS);
}

// --- cancellation

static int undone;

static void undo(void *arg) {
    (void)arg;
    __atomic_fetch_add(&undone, 1, __ATOMIC_SEQ_CST);
}

static void unlock(void *lock) {
    // The wait has locked it again.
    CHECK_EQUAL(pthread_mutex_unlock(lock), 0);
    undo(NULL);
}

static void *in_cond(void *unused) {
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(unlock, &mutex);
    for (;;) {
        CHECK_EQUAL(pthread_cond_wait(&cond, &mutex), 0);
    }
    pthread_cleanup_pop(1);
    return unused;
}

static void *in_sem(void *unused) {
    pthread_cleanup_push(undo, NULL);
    CHECK_EQUAL(sem_wait(&sem), 0);
    pthread_cleanup_pop(1);
    return unused;
}

static void *in_sleep(void *unused) {
    pthread_cleanup_push(undo, NULL);
    sleep(1000);
    pthread_cleanup_pop(1);
    return unused;
}

static void *in_join(void *thread) {
    pthread_cleanup_push(undo, NULL);
    pthread_join(*(pthread_t *)thread, NULL);
    pthread_cleanup_pop(1);
    return NULL;
}

static void *in_loop(void *unused) {
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile long turn = 0;; turn++) {
    }
    return unused;
}

static void *after_work(void *unused) {
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    usleep(3000);
    return unused;
}

static void cancel(pthread_t thread) {
    CHECK_EQUAL(pthread_cancel(thread), 0);
    CHECK(join(thread) == PTHREAD_CANCELED);
}

static void cancellation(void) {
    void *(*const places[])(void *) = {in_cond, in_sem, in_sleep};
    CHECK_EQUAL(sem_init(&sem, 0, 0), 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int place = 0; place < 3; place++) {
            pthread_t thread = start(places[place], NULL);
            usleep(round % 4 * 500);
            cancel(thread);
        }
    }
    // The mutex is free and the semaphore counts right.
    CHECK_EQUAL(pthread_mutex_trylock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(sem_post(&sem), 0);
    CHECK_EQUAL(sem_trywait(&sem), 0);
    pthread_t sleeper = start(in_sleep, NULL);
    pthread_t joiner = start(in_join, &sleeper);
    usleep(5000);
    cancel(joiner);
    cancel(sleeper);
    cancel(start(in_loop, NULL));
    // A request that comes too late is no request for the next thread there.
    for (int round = 0; round < 4; round++) {
        pthread_t thread = start(after_work, NULL);
        CHECK_EQUAL(pthread_cancel(thread), 0);
        CHECK(join(thread) == NULL);
        CHECK(join(start(looks_new, (void *)1)) == (void *)1);
    }
}

// --- objects

static pthread_mutex_t robust_mutex(int protocol) {
    pthread_mutexattr_t attr;
    pthread_mutex_t lock;
    CHECK_EQUAL(pthread_mutexattr_init(&attr), 0);
    CHECK_EQUAL(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attr, protocol), 0);
    CHECK_EQUAL(pthread_mutex_init(&lock, &attr), 0);
    return lock;
}

static void *hold_robust(void *lock) { return (void *)(long)pthread_mutex_lock(lock); }

static int held;

static void *hold_both(void *locks) {
    CHECK_EQUAL(pthread_mutex_lock(locks), 0);
    void *error = hold_robust((pthread_mutex_t *)locks + 1);
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    return error;
}

// Unlocks what lost its owner; that one has ended, joined or not.
static void mend(pthread_mutex_t *lock) {
    CHECK_EQUAL(pthread_mutex_lock(lock), EOWNERDEAD);
    CHECK_EQUAL(pthread_mutex_consistent(lock), 0);
    CHECK_EQUAL(pthread_mutex_unlock(lock), 0);
}

static void *mends(void *lock) {
    mend(lock);
    return NULL;
}

static void initialisers(void) {
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_lock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&recursive), EPERM);
    CHECK_EQUAL(pthread_mutex_lock(&checking), 0);
    CHECK_EQUAL(pthread_mutex_lock(&checking), EDEADLK);
    CHECK_EQUAL(pthread_mutex_unlock(&checking), 0);
    CHECK_EQUAL(pthread_mutex_lock(&adaptive), 0);
    CHECK_EQUAL(pthread_mutex_destroy(&adaptive), EBUSY);
    CHECK_EQUAL(pthread_mutex_unlock(&adaptive), 0);
    CHECK_EQUAL(pthread_mutex_destroy(&adaptive), 0);
    CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_wrlock(&rwlock), EDEADLK);
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), EDEADLK);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&rwlock), EBUSY);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(pthread_rwlock_rdlock(&writers_first), 0);
    CHECK_EQUAL(pthread_rwlock_tryrdlock(&writers_first), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&writers_first), 0);
    CHECK_EQUAL(pthread_rwlock_unlock(&writers_first), 0);
    CHECK_EQUAL(pthread_cond_signal(&cond), 0);
    CHECK_EQUAL(pthread_cond_destroy(&cond), 0);
    CHECK_EQUAL(pthread_cond_init(&cond, NULL), 0);
}

static void time_outs(void) {
    struct timespec time = in_ms(CLOCK_REALTIME, 5), wrong = {0, 1000000000};
    CHECK_EQUAL(pthread_mutex_lock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &time), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &wrong), EINVAL);
    CHECK_EQUAL(pthread_cond_timedwait(&cond, &mutex, &time), ETIMEDOUT);
    CHECK_EQUAL(pthread_cond_timedwait(&cond, &mutex, &wrong), EINVAL);
    time = in_ms(CLOCK_MONOTONIC, 5);
    CHECK_EQUAL(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &time), ETIMEDOUT);
    struct timespec now = in_ms(CLOCK_MONOTONIC, 0);
    CHECK(now.tv_sec > time.tv_sec || (now.tv_sec == time.tv_sec && now.tv_nsec >= time.tv_nsec));
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_mutex_timedlock(&mutex, &wrong), 0);
    CHECK_EQUAL(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQUAL(pthread_rwlock_rdlock(&rwlock), 0);
    time = in_ms(CLOCK_REALTIME, 5);
    CHECK_EQUAL(pthread_rwlock_timedwrlock(&rwlock, &time), ETIMEDOUT);
    CHECK_EQUAL(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQUAL(sem_init(&sem, 0, 0), 0);
    CHECK_ERRNO(sem_timedwait(&sem, &time), ETIMEDOUT);
    CHECK_ERRNO(sem_timedwait(&sem, &wrong), EINVAL);
    CHECK_ERRNO(sem_trywait(&sem), EAGAIN);
    pthread_t sleeper = start(in_sleep, NULL);
    void *result;
    CHECK_EQUAL(pthread_tryjoin_np(sleeper, &result), EBUSY);
    time = in_ms(CLOCK_REALTIME, 5);
    CHECK_EQUAL(pthread_timedjoin_np(sleeper, &result, &time), ETIMEDOUT);
    cancel(sleeper);
}

static pthread_mutex_t mains;

static void robust(void) {
    pthread_mutex_t locks[2] = {robust_mutex(PTHREAD_PRIO_NONE), robust_mutex(PTHREAD_PRIO_INHERIT)};
    for (int round = 0; round < 3; round++) {
        CHECK(join(start(hold_both, locks)) == NULL);
        mend(&locks[0]);
        mend(&locks[1]);
    }
    // Nobody joins the owner before the mutex is to be had.
    for (int round = 0; round < 6; round++) {
        held = 0;
        pthread_t owner = start(hold_both, locks);
        while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE)) {
            sched_yield();
        }
        mend(&locks[1]);
        pthread_t waiter = start(mends, &locks[0]);
        CHECK(join(waiter) == NULL);
        CHECK(join(owner) == NULL);
    }
    pthread_mutexattr_t attr;
    pthread_mutex_t lock;
    CHECK_EQUAL(pthread_mutexattr_init(&attr), 0);
    CHECK_EQUAL(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
    CHECK_EQUAL(pthread_mutex_init(&lock, &attr), 0);
    CHECK_EQUAL(pthread_mutex_lock(&lock), 0);
    struct timespec time = in_ms(CLOCK_REALTIME, 3);
    CHECK_EQUAL(pthread_cond_timedwait(&cond, &lock, &time), ETIMEDOUT);
    CHECK_EQUAL(pthread_mutex_unlock(&lock), 0);
}

// --- once, and a function that does not come to its end

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int attempts;

static void first_fails(void) {
    if (++attempts == 1) {
        pthread_exit(NULL);
    }
}

static void *call_once(void *unused) {
    CHECK_EQUAL(pthread_once(&once, first_fails), 0);
    return unused;
}

static void onces(void) {
    for (int round = 0; round < 3; round++) {
        join(start(call_once, NULL));
    }
    CHECK_EQUAL(attempts, 2);
}

// --- attributes and names

static void *describes_itself(void *arg) {
    pthread_attr_t *attr = arg;
    CHECK_EQUAL(pthread_getattr_np(pthread_self(), attr), 0);
    return __builtin_frame_address(0);
}

static void attributes(void) {
    pthread_attr_t attr, found;
    size_t bytes, guard;
    void *stack;
    int state;
    CHECK_EQUAL(pthread_attr_init(&attr), 0);
    CHECK_EQUAL(pthread_attr_setstacksize(&attr, 300000), 0);
    pthread_t thread;
    // On a slot, and with a guard of its own as a fresh thread.
    for (int fresh = 0; fresh < 2; fresh++) {
        CHECK_EQUAL(pthread_attr_setguardsize(&attr, fresh ? 65536 : 4096), 0);
        CHECK_EQUAL(pthread_create(&thread, &attr, describes_itself, &found), 0);
        char *frame = join(thread);
        CHECK_EQUAL(pthread_attr_getstack(&found, &stack, &bytes), 0);
        CHECK_EQUAL(pthread_attr_getguardsize(&found, &guard), 0);
        CHECK_EQUAL(pthread_attr_getdetachstate(&found, &state), 0);
        CHECK(bytes >= 300000 - 65536 && frame > (char *)stack && frame < (char *)stack + bytes);
        CHECK_EQUAL(guard, fresh ? 65536 : 4096);
        CHECK_EQUAL(state, PTHREAD_CREATE_JOINABLE);
        CHECK_EQUAL(pthread_attr_destroy(&found), 0);
    }
    static char own[1 << 18] __attribute__((aligned(64)));
    CHECK_EQUAL(pthread_attr_setstack(&attr, own, sizeof own), 0);
    CHECK_EQUAL(pthread_create(&thread, &attr, describes_itself, &found), 0);
    char *frame = join(thread);
    CHECK(frame > own && frame < own + sizeof own);
}

static void misuse(void) {
    void *result;
    CHECK_EQUAL(pthread_join(pthread_self(), &result), EDEADLK);
    pthread_t thread = start(in_sleep, NULL);
    CHECK_EQUAL(pthread_detach(thread), 0);
    CHECK_EQUAL(pthread_join(thread, &result), EINVAL);
    CHECK_EQUAL(pthread_detach(thread), EINVAL);
    CHECK_EQUAL(pthread_cancel(thread), 0);
    CHECK_EQUAL(pthread_kill(pthread_self(), 1000), EINVAL);
    CHECK_EQUAL(pthread_barrier_init(&(pthread_barrier_t){0}, NULL, 0), EINVAL);
    CHECK_ERRNO(sem_init(&sem, 0, 0x80000000u), EINVAL);
}

static pthread_barrier_t barrier;
static int serials;

static void *meets(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        int result = pthread_barrier_wait(&barrier);
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
        __atomic_fetch_add(&serials, result != 0, __ATOMIC_SEQ_CST);
    }
    return unused;
}

static void barriers(void) {
    pthread_t threads[THREADS];
    CHECK_EQUAL(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int number = 0; number < THREADS; number++) {
        threads[number] = start(meets, NULL);
    }
    for (int number = 0; number < THREADS; number++) {
        join(threads[number]);
    }
    CHECK_EQUAL(serials, ROUNDS);
    CHECK_EQUAL(pthread_barrier_destroy(&barrier), 0);
}

// --- main ends first

static void *last(void *main_thread) {
    mend(&mains);
    CHECK_EQUAL(pthread_join(*(pthread_t *)main_thread, NULL), 0);
    puts("after main: ok");
    return NULL;
}

static const struct part PARTS[] = {
    {"reuse", reuse},
    {"cancellation", cancellation},
    {"initialisers", initialisers},
    {"time-outs", time_outs},
    {"robust", robust},
    {"onces", onces},
    {"attributes", attributes},
    {"misuse", misuse},
    {"barriers", barriers},
};

int main(int argc, char **argv) {
    static pthread_t self;
    int status = run_parts(PARTS, sizeof PARTS / sizeof *PARTS, argc, argv);
    if (status != 0) {
        return status;
    }
    self = pthread_self();
    mains = robust_mutex(PTHREAD_PRIO_NONE);
    CHECK_EQUAL(pthread_mutex_lock(&mains), 0);
    CHECK_EQUAL(pthread_detach(start(last, &self)), 0);
    pthread_exit(NULL);
}
