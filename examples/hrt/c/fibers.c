// SPDX-License-Identifier: Apache-2.0 OR MIT
// Prime numbers by a chain of fibers: each lets through what its own prime does not divide.
#include <hadal/hrt.h>
#include <stdio.h>

#define PRIMES 25
#define NOTHING 0

// A place for one number between two fibers of a thread.
struct pipe {
    int number;
};

static void put(struct pipe *pipe, int number) {
    while (pipe->number != NOTHING) {
        hrt_fiber_yield();
    }
    pipe->number = number;
}

static int take(struct pipe *pipe) {
    while (pipe->number == NOTHING) {
        hrt_fiber_yield();
    }
    int number = pipe->number;
    pipe->number = NOTHING;
    return number;
}

static struct pipe pipes[PRIMES + 1];
static int primes[PRIMES];

static void *count(void *arg) {
    (void)arg;
    for (int number = 2;; number++) {
        put(&pipes[0], number);
    }
    return NULL;
}

static void *sieve(void *arg) {
    long index = (long)arg;
    int prime = take(&pipes[index]);
    primes[index] = prime;
    while (index + 1 < PRIMES) {
        int number = take(&pipes[index]);
        if (number % prime != 0) {
            put(&pipes[index + 1], number);
        }
    }
    return NULL;
}

int main(void) {
    hrt_fiber_t *last = NULL;
    hrt_fiber_create(NULL, count, NULL, 0);
    for (long i = 0; i < PRIMES; i++) {
        if (hrt_fiber_create(&last, sieve, (void *)i, 0) != HRT_OK) {
            return 1;
        }
    }
    // The others end with the thread.
    hrt_fiber_join(last, NULL);
    for (int i = 0; i < PRIMES; i++) {
        printf("%d%c", primes[i], i + 1 < PRIMES ? ' ' : '\n');
    }
    return 0;
}
