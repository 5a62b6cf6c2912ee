// SPDX-License-Identifier: Apache-2.0 OR MIT
// Memory: libc's allocator for small blocks that may lie anywhere, mappings of their own for large ones and
// for those of a chosen zone. A table of the live blocks, by address, tells hrt_free() what is one.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "linux.h"

// Modes of mbind(2); linux/mempolicy.h is not on every system with a C library.
#define MPOL_PREFERRED 1
#define MPOL_BIND 2

#define HUGE_BYTES (2ull << 20)
#define ALIGN_MAX (1ull << 30)
#define MAPPED_BYTES (64u << 10) /* from this size on a block has a mapping of its own */
#define BUCKETS 4096u

struct block {
    struct block *next;
    void *start;
    uint64_t bytes;
    int32_t zone;
    bool mapped;
};

static struct bucket {
    pthread_mutex_t lock;
    struct block *first;
} buckets[BUCKETS] = {[0 ... BUCKETS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static struct counters { uint64_t bytes, allocations; } counters[64];

static uint32_t interleave;

static struct bucket *bucket_of(const void *start) {
    uint64_t hash = ((uintptr_t)start >> 4) * 0x9e3779b97f4a7c15ull;
    return &buckets[hash >> 52];
}

void hrt_linux_memory_counters(uint32_t zone, uint64_t *bytes, uint64_t *allocations) {
    *bytes = __atomic_load_n(&counters[zone].bytes, __ATOMIC_RELAXED);
    *allocations = __atomic_load_n(&counters[zone].allocations, __ATOMIC_RELAXED);
}

static uint64_t page_up(uint64_t bytes) { return (bytes + 4095) & ~4095ull; }

// mbind(2); a kernel without NUMA does not have it, and there is only one zone then.
static bool place(void *start, uint64_t bytes, int32_t zone, bool strict) {
    uint64_t mask[16] = {0};
    uint32_t node = hrt_linux_node_of_zone((uint32_t)zone);
    mask[node / 64] = 1ull << node % 64;
    int mode = strict ? MPOL_BIND : MPOL_PREFERRED;
    int saved = errno;
    bool is_placed = syscall(SYS_mbind, start, bytes, mode, mask, 8 * sizeof mask, 0) == 0;
    errno = saved;
    return is_placed || hrt_linux_zone_count() == 1;
}

static void *map_aligned(uint64_t bytes, uint64_t align) {
    uint64_t slack = align > 4096 ? align : 0;
    char *start =
        mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    if (slack) {
        uint64_t before = -(uintptr_t)start & (align - 1);
        if (before) {
            munmap(start, before);
        }
        if (slack > before) {
            munmap(start + before + bytes, slack - before);
        }
        start += before;
    }
    return start;
}

static uint64_t natural_align(uint64_t bytes) {
    uint64_t align = HUGE_BYTES;
    while (align < bytes && align < ALIGN_MAX) {
        align *= 2;
    }
    return align;
}

static void *map_block(struct block *block, uint64_t align, uint32_t flags) {
    block->mapped = true;
    block->bytes = page_up(block->bytes);
    if (block->bytes >= HUGE_BYTES && align < natural_align(block->bytes)) {
        align = natural_align(block->bytes);
    }
    void *start = map_aligned(block->bytes, align);
    if (!start) {
        return NULL;
    }
    if (block->bytes >= HUGE_BYTES) {
        madvise(start, block->bytes, MADV_HUGEPAGE);
    }
    if (!place(start, block->bytes, block->zone, flags & HRT_ALLOC_STRICT)) {
        munmap(start, block->bytes);
        return NULL;
    }
    return start;
}

static void *small_block(struct block *block, uint64_t align, uint32_t flags) {
    void *start;
    if (posix_memalign(&start, align < 16 ? 16 : align, block->bytes) != 0) {
        return NULL;
    }
    if (flags & HRT_ALLOC_ZERO) {
        memset(start, 0, block->bytes);
    }
    return start;
}

static void insert(struct block *block) {
    struct bucket *bucket = bucket_of(block->start);
    pthread_mutex_lock(&bucket->lock);
    block->next = bucket->first;
    bucket->first = block;
    pthread_mutex_unlock(&bucket->lock);
    __atomic_fetch_add(&counters[block->zone].bytes, block->bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counters[block->zone].allocations, 1, __ATOMIC_RELAXED);
}

static int32_t choose_zone(int32_t zone, uint32_t flags) {
    uint32_t zones = hrt_linux_zone_count();
    if (flags & HRT_ALLOC_INTERLEAVE) {
        return (int32_t)(__atomic_fetch_add(&interleave, 1, __ATOMIC_RELAXED) % zones);
    }
    if (zone == HRT_ZONE_ANY) {
        return zones == 1 ? 0 : (int32_t)hrt_linux_zone_of_cpu(hrt_linux_cpu_self());
    }
    return zone;
}

static void *allocate(uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags) {
    const uint32_t known = HRT_ALLOC_ZERO | HRT_ALLOC_STRICT | HRT_ALLOC_INTERLEAVE | HRT_ALLOC_HUGE;
    bool anywhere = zone == HRT_ZONE_ANY && !(flags & (HRT_ALLOC_INTERLEAVE | HRT_ALLOC_STRICT));
    zone = choose_zone(zone, flags);
    if (bytes == 0 || bytes > 1ull << 46 || align == 0 || (align & (align - 1)) || align > ALIGN_MAX ||
        (flags & ~known) || zone < 0 || (uint32_t)zone >= hrt_linux_zone_count()) {
        return NULL;
    }
    struct block *block = malloc(sizeof *block);
    if (!block) {
        return NULL;
    }
    *block = (struct block){.bytes = bytes, .zone = zone};
    if ((flags & HRT_ALLOC_HUGE) && bytes < HUGE_BYTES) {
        block->bytes = HUGE_BYTES;
    }
    bool small = block->bytes < MAPPED_BYTES && (anywhere || hrt_linux_zone_count() == 1);
    block->start = small ? small_block(block, align, flags) : map_block(block, align, flags);
    if (!block->start) {
        free(block);
        return NULL;
    }
    insert(block);
    return block->start;
}

void *hrt_linux_alloc(uint64_t bytes, uint64_t align, int32_t zone, uint32_t flags) {
    int saved = errno;
    void *start = allocate(bytes, align, zone, flags);
    errno = saved;
    return start;
}

int hrt_linux_free(void *memory) {
    if (!memory) {
        return HRT_OK;
    }
    struct bucket *bucket = bucket_of(memory);
    pthread_mutex_lock(&bucket->lock);
    struct block **link = &bucket->first;
    while (*link && (*link)->start != memory) {
        link = &(*link)->next;
    }
    struct block *block = *link;
    if (block) {
        *link = block->next;
    }
    pthread_mutex_unlock(&bucket->lock);
    if (!block) {
        return HRT_EINVAL;
    }
    __atomic_fetch_sub(&counters[block->zone].bytes, block->bytes, __ATOMIC_RELAXED);
    if (block->mapped) {
        munmap(block->start, block->bytes);
    } else {
        free(block->start);
    }
    free(block);
    return HRT_OK;
}

static bool look_up(const void *memory, struct block *found) {
    struct bucket *bucket = bucket_of(memory);
    pthread_mutex_lock(&bucket->lock);
    struct block *block = bucket->first;
    while (block && block->start != memory) {
        block = block->next;
    }
    if (block) {
        *found = *block;
    }
    pthread_mutex_unlock(&bucket->lock);
    return block != NULL;
}

uint64_t hrt_linux_usable_bytes(const void *memory) {
    struct block block;
    return look_up(memory, &block) ? block.bytes : 0;
}

int32_t hrt_linux_zone_of(const void *memory) {
    struct block block;
    return look_up(memory, &block) ? block.zone : -1;
}
