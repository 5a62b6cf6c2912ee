// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Memory by system calls, as an allocator or a loader uses them: the same source in every place. Mappings are
// private and anonymous.

#include "bench.h"

#include <sys/mman.h>

enum { PAGE_BYTES = 4096, BLOCK_BYTES = 2 << 20, BLOCK_PAGES = BLOCK_BYTES / PAGE_BYTES };

static char *map(size_t bytes) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        bench_fail("mmap: %s", strerror(errno));
    }
    return memory;
}

static void unmap(char *memory, size_t bytes) { BENCH_EXPECT(munmap(memory, bytes), 0); }

static void touch(char *memory, size_t pages) {
    for (size_t page = 0; page < pages; page++) {
        ((volatile char *)memory)[page * PAGE_BYTES] = 1;
    }
}

/* --- address space -------------------------------------------------------------------------------------- */

/* A page is mapped and unmapped, untouched, beside `others` mappings that no kernel can join: every second
 * page of a region has other rights. There is no room above that region, so a search from the top passes all
 * of them. */
static void map_unmap_beside(const char *name, size_t others, unsigned samples) {
    char *region = others == 0 ? NULL : map(others * PAGE_BYTES);
    for (size_t page = 0; page < others; page += 2) {
        BENCH_EXPECT(mprotect(region + page * PAGE_BYTES, PAGE_BYTES, PROT_NONE), 0);
    }
    while (region != NULL && map(PAGE_BYTES) > region) {
    }
    bench_warm_up = 4;
    BENCH_TIME(samples, samples, unmap(map(PAGE_BYTES), PAGE_BYTES));
    if (region != NULL) {
        unmap(region, others * PAGE_BYTES);
    }
    char member[64];
    snprintf(member, sizeof member, "%s_%zu", name, others);
    bench_report(member);
}

static void map_unmap(const char *name) {
    map_unmap_beside(name, 0, 200);
    map_unmap_beside(name, 2000, 100);
    map_unmap_beside(name, 32000, 20);
}

static void map_touch_unmap(const char *name) {
    BENCH_TIME(100, 1000, {
        char *page = map(PAGE_BYTES);
        touch(page, 1);
        unmap(page, PAGE_BYTES);
    });
    bench_report(name);
}

/* One page of a mapping that is in use loses the right to be written, and gets it back: per call. */
static void protect(const char *name) {
    enum { PAGES = 256, MIDDLE = 100 };
    char *memory = map((size_t)PAGES * PAGE_BYTES);
    char *page = memory + (size_t)MIDDLE * PAGE_BYTES;
    touch(memory, PAGES);
    for (unsigned i = 0; i < bench_rounds(bench_choose(100, 1000)); i++) {
        uint64_t start = bench_ticks();
        BENCH_EXPECT(mprotect(page, PAGE_BYTES, PROT_READ), 0);
        BENCH_EXPECT(mprotect(page, PAGE_BYTES, PROT_READ | PROT_WRITE), 0);
        bench_sample(bench_ticks() - start, 2);
        touch(page, 1);
    }
    unmap(memory, (size_t)PAGES * PAGE_BYTES);
    bench_report(name);
}

static void unmap_touched(const char *name) {
    enum { PAGES = 64 };
    for (unsigned i = 0; i < bench_rounds(bench_choose(100, 1000)); i++) {
        char *memory = map((size_t)PAGES * PAGE_BYTES);
        touch(memory, PAGES);
        uint64_t start = bench_ticks();
        unmap(memory, (size_t)PAGES * PAGE_BYTES);
        bench_sample(bench_ticks() - start, PAGES);
    }
    bench_report(name);
}

/* --- first touch ---------------------------------------------------------------------------------------- */

/* An address for a block at a multiple of its size, where a page of 2 MiB fits. */
static char *find_room(void) {
    char *memory = map(2 * (size_t)BLOCK_BYTES);
    unmap(memory, 2 * (size_t)BLOCK_BYTES);
    return memory + (-(uintptr_t)memory & (BLOCK_BYTES - 1));
}

static char *map_block(char *room) {
    char *block = mmap(room, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    BENCH_EXPECT(block, room);
    return block;
}

/* Mapping a block and touching its first `pages` pages, per page. Mapping is part of it, because images get
 * their memory then. */
static void touch_of(const char *name, size_t pages) {
    char *room = find_room();
    bench_warm_up = 8;
    for (unsigned i = 0; i < bench_rounds(bench_choose(40, 200)); i++) {
        uint64_t start = bench_ticks();
        char *block = map_block(room);
        touch(block, pages);
        bench_sample(bench_ticks() - start, (double)pages);
        unmap(block, BLOCK_BYTES);
    }
    bench_report(name);
}

/* The first access to a block alone: mapping and unmapping it lie outside the samples. */
static void first_touch(const char *name) {
    if (bench_on_hadal()) {
        bench_skip(name, "images get their memory when they map");
        return;
    }
    char *room = find_room();
    bench_warm_up = 8;
    for (unsigned i = 0; i < bench_rounds(bench_choose(40, 200)); i++) {
        char *block = map_block(room);
        uint64_t start = bench_ticks();
        touch(block, 1);
        bench_sample(bench_ticks() - start, 1);
        unmap(block, BLOCK_BYTES);
    }
    bench_report(name);
}

static void touch_block(const char *name) { touch_of(name, BLOCK_PAGES); }
static void touch_page(const char *name) { touch_of(name, 1); }

/* --- a large block of malloc's -------------------------------------------------------------------------- */

/* Above malloc's threshold for mmap, which does not grow beyond 32 MiB. */
static void malloc_64m(const char *name) {
    bench_warm_up = 8;
    BENCH_TIME(40, 200, {
        char *memory = malloc((size_t)64 << 20);
        if (memory == NULL) {
            bench_fail("no memory");
        }
        touch(memory, 1);
        free(memory);
    });
    bench_report(name);
}

static const struct bench_figure figures[] = {
    {"mmap.map_unmap", map_unmap},     {"mmap.map_touch_unmap", map_touch_unmap},
    {"mmap.protect", protect},         {"mmap.unmap_touched", unmap_touched},
    {"mmap.first_touch", first_touch}, {"mmap.touch_page", touch_page},
    {"mmap.touch_block", touch_block}, {"mmap.malloc_64m", malloc_64m},
};

BENCH_MAIN(figures)
