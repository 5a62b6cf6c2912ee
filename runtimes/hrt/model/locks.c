// SPDX-License-Identifier: Apache-2.0 OR MIT
// Scenarios of the locks: mutual exclusion, what the last holder wrote, sleeping and waking, time-outs, and
// that an unlock does not touch a lock that its next holder has destroyed.
#include <hadal/hrt/sync.h>

#include "model.h"

#define SOON 1u // a deadline that may pass at any time

static int counter;

static void count(void) { MODEL_SET(counter, MODEL_GET(counter) + 1); }

static hrt_spin_t spin;
static void spin_setup(void) {
    counter = 0;
    hrt_spin_init(&spin);
}
static void spin_thread(void) {
    hrt_spin_lock(&spin);
    count();
    hrt_spin_unlock(&spin);
}
static void spin_try(void) {
    if (hrt_spin_trylock(&spin) == HRT_OK) {
        count();
        hrt_spin_unlock(&spin);
    }
}
static void three(void) { model_check(counter == 3); }
static void some(void) { model_check(counter >= 1); }

static hrt_ticket_t ticket;
static void ticket_setup(void) {
    counter = 0;
    hrt_ticket_init(&ticket);
}
static void ticket_thread(void) {
    hrt_ticket_lock(&ticket);
    count();
    hrt_ticket_unlock(&ticket);
}
static void ticket_try(void) {
    if (hrt_ticket_trylock(&ticket) == HRT_OK) {
        count();
        hrt_ticket_unlock(&ticket);
    }
}

static hrt_mcs_t mcs;
static hrt_mcs_node_t nodes[MODEL_THREADS];
static void mcs_setup(void) {
    counter = 0;
    hrt_mcs_init(&mcs);
}
static void mcs_thread(void) {
    hrt_mcs_lock(&mcs, &nodes[model_self()]);
    count();
    hrt_mcs_unlock(&mcs, &nodes[model_self()]);
}
static void mcs_try(void) {
    if (hrt_mcs_trylock(&mcs, &nodes[model_self()]) == HRT_OK) {
        count();
        hrt_mcs_unlock(&mcs, &nodes[model_self()]);
    }
}

static hrt_mutex_t mutex;
static void mutex_setup(void) {
    counter = 0;
    hrt_mutex_init(&mutex, HRT_MUTEX_NORMAL);
}
static void mutex_thread(void) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    count();
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void mutex_try(void) {
    if (hrt_mutex_trylock(&mutex) == HRT_OK) {
        count();
        model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
    }
}
static void mutex_timed(void) {
    int status = hrt_mutex_lock_until(&mutex, SOON);
    model_check(status == HRT_OK || status == HRT_ETIMEDOUT);
    if (status == HRT_OK) {
        count();
        model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
    }
}
static void mutex_free_at_end(void) {
    some();
    model_check(hrt_mutex_destroy(&mutex) == HRT_OK);
    model_check(hrt_mutex_lock(&mutex) == HRT_EINVAL);
}
// The last of two to have the mutex destroys it: the other's unlock may not be over yet.
static void mutex_last_destroys(void) {
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    count();
    int mine = MODEL_GET(counter);
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
    if (mine == 2) {
        model_check(hrt_mutex_destroy(&mutex) == HRT_OK);
        model_retire(&mutex, sizeof mutex);
    }
}

static void recursive_setup(void) {
    counter = 0;
    hrt_mutex_init(&mutex, HRT_MUTEX_RECURSIVE);
}
static void recursive_thread(void) {
    mutex_thread();
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    mutex_try();
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}
static void four(void) { model_check(counter == 4); }

static void checking_setup(void) {
    counter = 0;
    hrt_mutex_init(&mutex, HRT_MUTEX_ERROR_CHECKING);
}
static void checking_thread(void) {
    model_check(hrt_mutex_unlock(&mutex) == HRT_EPERM);
    model_check(hrt_mutex_lock(&mutex) == HRT_OK);
    model_check(hrt_mutex_lock(&mutex) == HRT_EDEADLK);
    model_check(hrt_mutex_trylock(&mutex) == HRT_EBUSY);
    count();
    model_check(hrt_mutex_unlock(&mutex) == HRT_OK);
}

static hrt_rwlock_t rwlock;
static void rwlock_setup(void) {
    counter = 0;
    hrt_rwlock_init(&rwlock, 0);
}
static void rwlock_setup_writers_first(void) {
    counter = 0;
    hrt_rwlock_init(&rwlock, HRT_RWLOCK_PREFER_WRITER);
}
static void rwlock_writer(void) {
    model_check(hrt_rwlock_wrlock(&rwlock) == HRT_OK);
    count();
    model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
}
static void rwlock_reader(void) {
    model_check(hrt_rwlock_rdlock(&rwlock) == HRT_OK);
    (void)MODEL_GET(counter);
    model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
}
static void rwlock_timed_writer(void) {
    int status = hrt_rwlock_wrlock_until(&rwlock, SOON);
    model_check(status == HRT_OK || status == HRT_ETIMEDOUT);
    if (status == HRT_OK) {
        count();
        model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
    }
}
static void rwlock_timed_reader(void) {
    int status = hrt_rwlock_rdlock_until(&rwlock, SOON);
    model_check(status == HRT_OK || status == HRT_ETIMEDOUT);
    if (status == HRT_OK) {
        (void)MODEL_GET(counter);
        model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
    }
}
static void rwlock_try_both(void) {
    if (hrt_rwlock_tryrdlock(&rwlock) == HRT_OK) {
        (void)MODEL_GET(counter);
        model_check(hrt_rwlock_trywrlock(&rwlock) == HRT_EBUSY);
        model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
    }
    if (hrt_rwlock_trywrlock(&rwlock) == HRT_OK) {
        count();
        model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
    }
}
static void rwlock_last_destroys(void) {
    model_check(hrt_rwlock_wrlock(&rwlock) == HRT_OK);
    count();
    int mine = MODEL_GET(counter);
    model_check(hrt_rwlock_unlock(&rwlock) == HRT_OK);
    if (mine == 2) {
        model_check(hrt_rwlock_destroy(&rwlock) == HRT_OK);
        model_retire(&rwlock, sizeof rwlock);
    }
}
static void rwlock_free_at_end(void) { model_check(hrt_rwlock_destroy(&rwlock) == HRT_OK); }

const struct model_scenario model_lock_scenarios[] = {
    {.name = "spin/two", .setup = spin_setup, .threads = {spin_thread, spin_thread}},
    {.name = "spin/three-and-try",
     .setup = spin_setup,
     .threads = {spin_thread, spin_thread, spin_try},
     .finish = some,
     .preemptions = 4},
    {.name = "ticket/three",
     .setup = ticket_setup,
     .threads = {ticket_thread, ticket_thread, ticket_thread},
     .finish = three,
     .preemptions = 3},
    {.name = "ticket/try", .setup = ticket_setup, .threads = {ticket_thread, ticket_try}, .finish = some},
    {.name = "mcs/three",
     .setup = mcs_setup,
     .threads = {mcs_thread, mcs_thread, mcs_thread},
     .finish = three,
     .preemptions = 2},
    {.name = "mcs/try", .setup = mcs_setup, .threads = {mcs_thread, mcs_try}, .finish = some},
    {.name = "mutex/two", .setup = mutex_setup, .threads = {mutex_thread, mutex_thread}},
    {.name = "mutex/spinning",
     .setup = mutex_setup,
     .threads = {mutex_thread, mutex_thread, mutex_thread},
     .preemptions = 2,
     .spins = 1},
    {.name = "mutex/three",
     .setup = mutex_setup,
     .threads = {mutex_thread, mutex_thread, mutex_thread},
     .finish = three,
     .preemptions = 4},
    {.name = "mutex/try", .setup = mutex_setup, .threads = {mutex_thread, mutex_try}, .finish = some},
    {.name = "mutex/time-out",
     .setup = mutex_setup,
     .threads = {mutex_thread, mutex_thread, mutex_timed},
     .finish = mutex_free_at_end,
     .preemptions = 3},
    {.name = "mutex/signal",
     .setup = mutex_setup,
     .threads = {mutex_thread, mutex_thread, mutex_thread},
     .finish = three,
     .preemptions = 3,
     .interrupts = 1},
    {.name = "mutex/destroy", .setup = mutex_setup, .threads = {mutex_last_destroys, mutex_last_destroys}},
    {.name = "mutex/recursive",
     .setup = recursive_setup,
     .threads = {recursive_thread, recursive_thread},
     .finish = four,
     .preemptions = 2},
    {.name = "mutex/error-checking",
     .setup = checking_setup,
     .threads = {checking_thread, checking_thread},
     .finish = mutex_free_at_end,
     .preemptions = 3},
    {.name = "rwlock/writers",
     .setup = rwlock_setup,
     .threads = {rwlock_writer, rwlock_writer, rwlock_writer},
     .finish = three,
     .preemptions = 2},
    {.name = "rwlock/spinning",
     .setup = rwlock_setup,
     .threads = {rwlock_writer, rwlock_reader, rwlock_writer},
     .finish = rwlock_free_at_end,
     .preemptions = 1,
     .spins = 1},
    {.name = "rwlock/readers-first",
     .setup = rwlock_setup,
     .threads = {rwlock_writer, rwlock_reader, rwlock_reader},
     .finish = rwlock_free_at_end,
     .preemptions = 2},
    {.name = "rwlock/writers-first",
     .setup = rwlock_setup_writers_first,
     .threads = {rwlock_writer, rwlock_reader, rwlock_reader},
     .finish = rwlock_free_at_end,
     .preemptions = 2},
    {.name = "rwlock/time-out",
     .setup = rwlock_setup,
     .threads = {rwlock_writer, rwlock_timed_reader, rwlock_timed_writer},
     .finish = rwlock_free_at_end,
     .preemptions = 2},
    {.name = "rwlock/writer-gives-up",
     .setup = rwlock_setup_writers_first,
     .threads = {rwlock_reader, rwlock_reader, rwlock_timed_writer},
     .finish = rwlock_free_at_end,
     .preemptions = 2},
    {.name = "rwlock/writer-and-writer-gives-up",
     .setup = rwlock_setup_writers_first,
     .threads = {rwlock_reader, rwlock_writer, rwlock_timed_writer},
     .finish = rwlock_free_at_end,
     .preemptions = 2},
    {.name = "rwlock/signal",
     .setup = rwlock_setup_writers_first,
     .threads = {rwlock_writer, rwlock_reader, rwlock_writer},
     .finish = rwlock_free_at_end,
     .preemptions = 1,
     .interrupts = 1},
    {.name = "rwlock/try",
     .setup = rwlock_setup,
     .threads = {rwlock_writer, rwlock_try_both},
     .finish = rwlock_free_at_end,
     .preemptions = 4},
    {.name = "rwlock/destroy",
     .setup = rwlock_setup,
     .threads = {rwlock_last_destroys, rwlock_last_destroys}},
    {.name = NULL},
};
