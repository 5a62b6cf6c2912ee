// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Threads map, cut, move, replace and unmap at random, and look whether each page is theirs: new ones are
// zero, and kept ones hold what was written.

#define _GNU_SOURCE
#include "../common/check.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { THREADS = 4, PIECES = 300, ROUNDS = 1500, PAGE = 4096, MOST_PAGES = 30 };
static const uintptr_t HINTS = 0x100000000;

struct piece {
    char *start;
    size_t pages;
    uint64_t mark;
};

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static uint64_t *word(const struct piece *piece, size_t page) {
    return (uint64_t *)(void *)(piece->start + page * PAGE);
}

// Marks pages that are new.
static void fill(const struct piece *piece, size_t from) {
    for (size_t page = from; page < piece->pages; page++) {
        CHECK(*word(piece, page) == 0);
        *word(piece, page) = piece->mark + page;
    }
}

static void map(struct piece *piece, uint64_t mark, uint64_t *state) {
    size_t pages = 1 + next_random(state) % MOST_PAGES;
    if (next_random(state) % 50 == 0) {
        pages += 512;
    }
    uintptr_t hint = 0;
    if (next_random(state) % 3 == 0) {
        hint = HINTS + next_random(state) % 100000 * PAGE;
    }
    void *start =
        mmap((void *)hint, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(start != MAP_FAILED);
    *piece = (struct piece){.start = start, .pages = pages, .mark = mark};
    fill(piece, 0);
    if (next_random(state) % 4 == 0) {
        CHECK(mprotect(start, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
    }
}

static void unmap_from(struct piece *piece, size_t pages) {
    CHECK(munmap(piece->start + pages * PAGE, (piece->pages - pages) * PAGE) == 0);
    piece->pages = pages;
}

static void move(struct piece *piece, size_t pages) {
    void *start = mremap(piece->start, piece->pages * PAGE, pages * PAGE, MREMAP_MAYMOVE);
    if (start == MAP_FAILED) {
        // It is two mappings.
        CHECK(errno == EFAULT);
        return;
    }
    size_t before = piece->pages;
    piece->start = start;
    piece->pages = pages;
    fill(piece, before);
}

static void replace(struct piece *piece) {
    void *start = mmap(piece->start, piece->pages * PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    CHECK(start == piece->start);
    fill(piece, 0);
}

static void *churn(void *number) {
    static struct piece pieces[THREADS][PIECES];
    uintptr_t index = (uintptr_t)number;
    uint64_t state = 0x9e3779b97f4a7c15 * (index + 1), mark = (uint64_t)(index + 1) << 48;
    for (int round = 0; round < ROUNDS; round++) {
        struct piece *piece = &pieces[index][next_random(&state) % PIECES];
        if (piece->pages == 0) {
            mark += 1 << 20;
            map(piece, mark, &state);
            continue;
        }
        for (size_t page = 0; page < piece->pages; page++) {
            CHECK(*word(piece, page) == piece->mark + page);
        }
        switch (next_random(&state) % 5) {
        case 0:
            move(piece, 1 + next_random(&state) % MOST_PAGES);
            break;
        case 1:
            replace(piece);
            break;
        case 2:
            unmap_from(piece, next_random(&state) % piece->pages);
            break;
        default:
            unmap_from(piece, 0);
        }
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, churn, (void *)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    puts("every page was right");
    return 0;
}
