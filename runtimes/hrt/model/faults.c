// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios that must fail: the sound sources with one kind of ordering taken away, and code with well-known
// mistakes. A checker that passes these sees nothing.
#include <hadal/hrt/sync.h>

#include "model.h"

static int counter;
static uint32_t flag;

static hrt_spin_t spin;
static hrt_mutex_t mutex;
static hrt_cond_t cond;
static hrt_sem_t sem;
static hrt_rwlock_t rwlock;
static hrt_barrier_t barrier;
static hrt_wait_queue_t queue;
static void setup(void) {
    counter = 0;
    flag = 0;
    hrt_spin_init(&spin);
    hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL);
    hrt_cond_init(&cond);
    hrt_sem_init(&sem, 1);
    hrt_rwlock_init(&rwlock, 0);
    hrt_wait_queue_init(&queue);
    hrt_barrier_init(&barrier, 2, HRT_BARRIER_CENTRAL, NULL);
}

static void count(void) { MODEL_SET(counter, MODEL_GET(counter) + 1); }
static void spin_thread(void) {
    hrt_spin_lock(&spin);
    count();
    hrt_spin_unlock(&spin);
}
static void mutex_thread(void) {
    hrt_mutex_lock(&mutex);
    count();
    hrt_mutex_unlock(&mutex);
}
static void sem_thread(void) {
    hrt_sem_wait(&sem);
    count();
    hrt_sem_post(&sem);
}
static void writer(void) {
    hrt_rwlock_wrlock(&rwlock);
    count();
    hrt_rwlock_unlock(&rwlock);
}
static void reader(void) {
    hrt_rwlock_rdlock(&rwlock);
    (void)MODEL_GET(counter);
    hrt_rwlock_unlock(&rwlock);
}
static void barrier_writer(void) {
    MODEL_SET(counter, 1);
    hrt_barrier_wait(&barrier);
}
static void barrier_reader(void) {
    hrt_barrier_wait(&barrier);
    (void)MODEL_GET(counter);
}
static bool is_set(void *arg) {
    (void)arg;
    return HRT_LOAD(&flag, HRT_RELAXED) != 0;
}
static void queue_waiter(void) { hrt_wait_queue_wait_for(&queue, is_set, NULL, HRT_FOREVER); }
static void queue_waker(void) {
    HRT_STORE(&flag, 1, HRT_RELAXED);
    hrt_wait_queue_wake(&queue, 1, HRT_WAKE_KICK);
}

// Unlocks with a plain store of "free", forgetting those who sleep.
static void forgetful_unlock(void) {
    hrt_mutex_lock(&mutex);
    HRT_STORE(&mutex.word, HRT_MUTEX_FREE(HRT_MUTEX_NORMAL), HRT_RELEASE);
}
// Looks once, and believes that a wake-up means what it hopes for.
static void credulous_consumer(void) {
    hrt_mutex_lock(&mutex);
    if (MODEL_GET(counter) == 0) {
        hrt_cond_wait(&cond, &mutex);
    }
    model_check(MODEL_GET(counter) > 0);
    MODEL_SET(counter, MODEL_GET(counter) - 1);
    hrt_mutex_unlock(&mutex);
}
static void producer(void) {
    mutex_thread();
    hrt_cond_broadcast(&cond, HRT_WAKE_KICK);
}
// Looks before it announces itself.
static void hasty_waiter(void) {
    uint32_t ticket;
    if (!is_set(NULL) && hrt_wait_queue_prepare(&queue, &ticket) == HRT_OK) {
        hrt_wait_queue_wait(&queue, ticket, HRT_FOREVER);
    }
}
// Takes the locks in the other order.
static void spin_then_mutex(void) {
    hrt_spin_lock(&spin);
    mutex_thread();
    hrt_spin_unlock(&spin);
}
static void mutex_then_spin(void) {
    hrt_mutex_lock(&mutex);
    spin_thread();
    hrt_mutex_unlock(&mutex);
}
// Touches the mutex after letting go of it: the other thread may have freed it.
static void late_toucher(void) {
    hrt_mutex_lock(&mutex);
    count();
    int mine = MODEL_GET(counter);
    hrt_mutex_unlock(&mutex);
    if (mine == 1) {
        (void)HRT_LOAD(&mutex.word, HRT_RELAXED);
    } else {
        hrt_mutex_destroy(&mutex);
        model_retire(&mutex, sizeof mutex);
    }
}

#define RACE "data race"
#define DEADLOCK "deadlock"

const struct model_scenario model_fault_scenarios[] = {
    {.name = "fault/spin-relaxed-unlock",
     .setup = setup,
     .threads = {spin_thread, spin_thread},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = RACE},
    {.name = "fault/spin-relaxed-lock",
     .setup = setup,
     .threads = {spin_thread, spin_thread},
     .fault = MODEL_ACQUIRE_RELAXED,
     .expected = RACE},
    {.name = "fault/mutex-relaxed-unlock",
     .setup = setup,
     .threads = {mutex_thread, mutex_thread},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = RACE},
    {.name = "fault/mutex-no-wake",
     .setup = setup,
     .threads = {mutex_thread, mutex_thread},
     .fault = MODEL_NO_WAKE,
     .expected = DEADLOCK},
    {.name = "fault/mutex-forgets-sleepers",
     .setup = setup,
     .threads = {mutex_thread, forgetful_unlock},
     .expected = DEADLOCK},
    {.name = "fault/mutex-late-touch",
     .setup = setup,
     .threads = {late_toucher, late_toucher},
     .expected = "freed"},
    {.name = "fault/rwlock-relaxed-unlock",
     .setup = setup,
     .threads = {writer, reader},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = RACE},
    {.name = "fault/rwlock-no-wake",
     .setup = setup,
     .threads = {writer, reader},
     .fault = MODEL_NO_WAKE,
     .expected = DEADLOCK},
    {.name = "fault/sem-relaxed-post",
     .setup = setup,
     .threads = {sem_thread, sem_thread},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = RACE},
    {.name = "fault/barrier-relaxed",
     .setup = setup,
     .threads = {barrier_writer, barrier_reader},
     .fault = MODEL_RELEASE_RELAXED,
     .expected = RACE},
    {.name = "fault/barrier-no-wake",
     .setup = setup,
     .threads = {barrier_writer, barrier_reader},
     .fault = MODEL_NO_WAKE,
     .expected = DEADLOCK},
    {.name = "fault/queue-no-fence",
     .setup = setup,
     .threads = {queue_waiter, queue_waker},
     .fault = MODEL_NO_FENCE,
     .expected = DEADLOCK},
    {.name = "fault/queue-looks-too-early",
     .setup = setup,
     .threads = {hasty_waiter, queue_waker},
     .expected = DEADLOCK},
    {.name = "fault/cond-no-second-look",
     .setup = setup,
     .threads = {credulous_consumer, credulous_consumer, producer},
     .preemptions = 3,
     .expected = "counter"},
    {.name = "fault/lock-order",
     .setup = setup,
     .threads = {spin_then_mutex, mutex_then_spin},
     .expected = DEADLOCK},
    {.name = NULL},
};
