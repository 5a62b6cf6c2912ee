// SPDX-License-Identifier: Apache-2.0 OR MIT
// A queue between threads (mutex and condition variable), results under a spin lock, and a barrier at the
// end.
#include <hadal/hrt.h>
#include <stdio.h>

#define CONSUMERS 3
#define ITEMS 1000
#define PLACES 16

static hrt_mutex_t lock = HRT_MUTEX_INIT;
static hrt_cond_t filled = HRT_COND_INIT, emptied = HRT_COND_INIT;
static int places[PLACES];
static int first, used;

static hrt_spin_t total_lock = HRT_SPIN_INIT;
static long total;
static hrt_barrier_t end = HRT_BARRIER_INIT(CONSUMERS);

static void put(int item) {
    hrt_mutex_lock(&lock);
    while (used == PLACES) {
        hrt_cond_wait(&emptied, &lock);
    }
    places[(first + used++) % PLACES] = item;
    hrt_mutex_unlock(&lock);
    hrt_cond_signal(&filled, HRT_WAKE_KICK);
}

static int take(void) {
    hrt_mutex_lock(&lock);
    while (used == 0) {
        hrt_cond_wait(&filled, &lock);
    }
    int item = places[first];
    first = (first + 1) % PLACES;
    used--;
    hrt_mutex_unlock(&lock);
    hrt_cond_signal(&emptied, HRT_WAKE_KICK);
    return item;
}

static void *consume(void *arg) {
    (void)arg;
    for (int item; (item = take()) != 0;) {
        hrt_spin_lock(&total_lock);
        total += item;
        hrt_spin_unlock(&total_lock);
    }
    if (hrt_barrier_wait(&end) == HRT_BARRIER_SERIAL) {
        printf("all %d are done: %ld\n", CONSUMERS, total);
    }
    return NULL;
}

int main(void) {
    for (int i = 0; i < CONSUMERS; i++) {
        if (hrt_thread_create(NULL, NULL, consume, NULL) != HRT_OK) {
            return 1;
        }
    }
    for (int i = 1; i <= ITEMS; i++) {
        put(i);
    }
    for (int i = 0; i < CONSUMERS; i++) {
        put(0);
    }
    hrt_thread_join_all();
    return 0;
}
