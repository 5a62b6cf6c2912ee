// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// The sieve of Eratosthenes, in blocks that a first-level cache holds.

#include "by_hand.h"

enum { BLOCK = 1 << 15 };

static size_t limit;
static int32_t *small, *primes, *starts;
static size_t smalls;
static uint8_t *flags;

static size_t root_of(size_t number) {
    size_t root = 0;
    while ((root + 1) * (root + 1) <= number) {
        root++;
    }
    return root;
}

static void clear_multiples(uint8_t *all, size_t prime, size_t from, size_t to) {
    size_t first = (from + prime - 1) / prime * prime;
    for (size_t multiple = first < 2 * prime ? 2 * prime : first; multiple < to; multiple += prime) {
        all[multiple] = 0;
    }
}

static void find_small(void) {
    size_t end = root_of(limit) + 1;
    memset(flags, 1, end);
    smalls = 0;
    for (size_t i = 2; i < end; i++) {
        if (flags[i]) {
            small[smalls++] = (int32_t)i;
            clear_multiples(flags, i, 0, end);
        }
    }
}

// Clears what is no prime, and counts the primes of a block.
static int32_t sieve_block(size_t from, size_t to) {
    memset(flags + from, 1, to - from);
    for (size_t i = 0; i < smalls; i++) {
        clear_multiples(flags, (size_t)small[i], from, to);
    }
    int32_t found = 0;
    for (size_t i = from < 2 ? 2 : from; i < to; i++) {
        found += flags[i];
    }
    return found;
}

static void store_block(size_t from, size_t to, int32_t *out) {
    for (size_t i = from < 2 ? 2 : from; i < to; i++) {
        if (flags[i]) {
            *out++ = (int32_t)i;
        }
    }
}

static size_t end_of(size_t block) {
    size_t end = (block + 1) * BLOCK;
    return end < limit ? end : limit;
}

static int32_t work(void) {
    size_t blocks = (limit + BLOCK - 1) / BLOCK;
    find_small();
#pragma omp parallel if (blocks > 1)
    {
#pragma omp for schedule(dynamic)
        for (size_t block = 0; block < blocks; block++) {
            starts[block + 1] = sieve_block(block * BLOCK, end_of(block));
        }
#pragma omp single
        for (size_t block = 0; block < blocks; block++) {
            starts[block + 1] += starts[block];
        }
#pragma omp for
        for (size_t block = 0; block < blocks; block++) {
            store_block(block * BLOCK, end_of(block), primes + starts[block]);
        }
    }
    return by_hand_digest(primes, (size_t)starts[blocks]);
}

static void prepare(size_t size) {
    limit = size;
    flags = by_hand_memory(limit, 1);
    primes = by_hand_memory(limit, sizeof *primes);
    small = by_hand_memory(root_of(limit) + 1, sizeof *small);
    starts = by_hand_memory(limit / BLOCK + 2, sizeof *starts);
    starts[0] = 0;
}

static void release(void) {
    free(flags);
    free(primes);
    free(small);
    free(starts);
}

BY_HAND_MAIN(prepare, work, release)
