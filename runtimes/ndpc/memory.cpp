// SPDX-License-Identifier: Apache-2.0 OR MIT
// Storage of sequences: pools.
#include "ndpc/memory.h"

#include <cstdlib>
#include <new>

#include "hadal/hrt.h"
#include "lock.h"
#include "ndpc/worker.h"
#include "steal.h"

#if defined(__has_feature)
#define NDPC_HAS(feature) __has_feature(feature)
#else
#define NDPC_HAS(feature) 0
#endif

namespace ndpc {

// NDPC_POOLS: for a test of the pools themselves under the thread sanitizer.
#if !defined(NDPC_POOLS) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                \
                             NDPC_HAS(address_sanitizer) || NDPC_HAS(thread_sanitizer))
constexpr bool pools = false;
#else
constexpr bool pools = true;
#endif

namespace {

// Blocks up to this size are parts of chunks, which live to the end. Larger ones are allocated one by one.
constexpr std::size_t largest_part = 32u << 10;
constexpr std::size_t first_chunk_bytes = 4u << 10;
// Of this size chunks lie in large pages. In small ones, many short sequences cost misses of the TLB: the
// bench's ndpc.sparse_1 took 12.2 ms instead of 10.1.
constexpr std::size_t most_chunk_bytes = 4u << 20;
// What a worker that has many chunks takes where memory is short: the last pages are left to what tells of
// it.
constexpr std::size_t least_chunk_bytes = 256u << 10;
// How much of a class moves to or from the shared pool at a time.
constexpr std::size_t batch_bytes = 16u << 10;
constexpr std::uint32_t batch_blocks = 64;
// Larger blocks that all pools together keep for the next who asks.
constexpr std::int64_t kept_bytes = 64 << 20;

struct SharedList {
    std::atomic<std::uint32_t> lock;
    FreeBlock *first;
};

SharedList shared_lists[size_classes];
std::atomic<std::int64_t> shared_large_bytes;

bool is_large(std::uint32_t size_class) { return class_bytes(size_class) > largest_part; }

std::uint32_t batch_of(std::uint32_t size_class) {
    std::size_t blocks = batch_bytes / class_bytes(size_class);
    return blocks < 2 ? 2 : blocks > batch_blocks ? batch_blocks : static_cast<std::uint32_t>(blocks);
}

void push(Pool::List &list, void *block) {
    auto *free_one = static_cast<FreeBlock *>(block);
    free_one->next = list.first;
    list.first = free_one;
    list.count++;
}

void *pop(Pool::List &list) {
    FreeBlock *block = list.first;
    list.first = block->next;
    list.count--;
    return block;
}

void give_one(Pool::List &list, std::uint32_t size_class);

void push_or_give(Pool::List &list, void *block, std::uint32_t size_class) {
    push(list, block);
    if (std::uint32_t batch = batch_of(size_class); list.count > 2 * batch) {
        for (std::uint32_t i = 0; i < batch; i++) {
            give_one(list, size_class);
        }
    }
}

// Takes what was returned to a pool; whether `list`, of the pool that takes, has any then.
bool take_returned(Pool &pool, Pool &from, const Pool::List &list) {
    if (!from.returned.load(std::memory_order_relaxed)) {
        return false;
    }
    FreeBlock *block = from.returned.exchange(nullptr, std::memory_order_acquire);
    while (block) {
        FreeBlock *next = block->next;
        std::uint32_t size_class = block->size_class;
        push_or_give(pool.lists[size_class], block, size_class);
        block = next;
    }
    return list.first;
}

// The same of all pools: for one that needs more memory, and whose blocks may wait with workers that do not
// allocate any.
bool take_all_returned(Pool &pool, const Pool::List &list) {
    for (std::uint32_t i = 0, count = worker_count(); i < count; i++) {
        take_returned(pool, worker_at(i)->pool, list);
    }
    return list.first;
}

// Moves up to a batch from the shared pool; false: it has none.
bool refill(Pool::List &list, std::uint32_t size_class) {
    SharedList &shared = shared_lists[size_class];
    std::uint32_t moved = 0;
    LockGuard guard(shared.lock);
    while (shared.first && moved < batch_of(size_class)) {
        FreeBlock *block = shared.first;
        shared.first = block->next;
        push(list, block);
        moved++;
    }
    if (is_large(size_class)) {
        shared_large_bytes.fetch_sub(static_cast<std::int64_t>(moved * class_bytes(size_class)),
                                     std::memory_order_relaxed);
    }
    return moved != 0;
}

void give_one(Pool::List &list, std::uint32_t size_class) {
    void *block = pop(list);
    auto bytes = static_cast<std::int64_t>(class_bytes(size_class));
    if (is_large(size_class) &&
        shared_large_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes > kept_bytes) {
        shared_large_bytes.fetch_sub(bytes, std::memory_order_relaxed);
        hrt_free(block);
        return;
    }
    SharedList &shared = shared_lists[size_class];
    LockGuard guard(shared.lock);
    auto *free_one = static_cast<FreeBlock *>(block);
    free_one->next = shared.first;
    shared.first = free_one;
}

// Gives large blocks that nobody uses back to the kernel.
void trim_shared() {
    for (std::uint32_t size_class = 0; size_class < size_classes; size_class++) {
        if (!is_large(size_class)) {
            continue;
        }
        Pool::List list{};
        while (refill(list, size_class)) {
            while (list.count != 0) {
                hrt_free(pop(list));
            }
        }
    }
}

// Memory of the kernel, after giving back what pools keep if it has no more.
void *from_kernel(Pool &pool, std::size_t bytes) {
    void *block = hrt_alloc(bytes, HRT_ZONE_ANY, 0);
    if (!block) {
        empty_pool(pool);
        trim_shared();
        block = hrt_alloc(bytes, HRT_ZONE_ANY, 0);
    }
    return block;
}

void *part_of_chunk(Pool &pool, std::size_t bytes) {
    if (pool.chunk_bytes < bytes) {
        // What is left of the old one is less than a block: it is given up.
        std::size_t fresh = pool.next_chunk_bytes != 0 ? pool.next_chunk_bytes : first_chunk_bytes;
        while (fresh < bytes) {
            fresh *= 2;
        }
        void *chunk = hrt_alloc(fresh, HRT_ZONE_ANY, 0);
        if (!chunk) {
            fresh = fresh > least_chunk_bytes ? least_chunk_bytes : fresh;
            chunk = from_kernel(pool, fresh);
        }
        if (!chunk) {
            return nullptr;
        }
        pool.chunk = static_cast<char *>(chunk);
        pool.chunk_bytes = fresh;
        pool.next_chunk_bytes = 2 * fresh < most_chunk_bytes ? 2 * fresh : most_chunk_bytes;
    }
    void *block = pool.chunk;
    pool.chunk += bytes;
    pool.chunk_bytes -= bytes;
    return block;
}

} // namespace

void *allocate_block(Pool &pool, std::size_t bytes) {
    if (!pools) {
        return std::malloc(bytes);
    }
    std::uint32_t size_class = class_of(bytes);
    if (size_class >= size_classes) {
        return nullptr;
    }
    Pool::List &list = pool.lists[size_class];
    if (list.first || take_returned(pool, pool, list) || refill(list, size_class)) {
        return pop(list);
    }
    std::size_t whole = class_bytes(size_class);
    if (is_large(size_class)) {
        return from_kernel(pool, whole);
    }
    // Before there is another chunk.
    if (pool.chunk_bytes < whole && (take_all_returned(pool, list) || refill(list, size_class))) {
        return pop(list);
    }
    return part_of_chunk(pool, whole);
}

void free_block(Pool &pool, void *block, std::uint32_t size_class) {
    if (pools) {
        push_or_give(pool.lists[size_class], block, size_class);
    } else {
        std::free(block);
    }
}

void free_block_of(Worker &mine, std::uint32_t maker, void *block, std::uint32_t size_class) {
    // A large one shares no cache line.
    if (!pools || maker == mine.number || maker >= worker_count() || is_large(size_class)) {
        free_block(mine.pool, block, size_class);
        return;
    }
    auto *returned = static_cast<FreeBlock *>(block);
    returned->size_class = size_class;
    std::atomic<FreeBlock *> &stack = worker_at(maker)->pool.returned;
    FreeBlock *first = stack.load(std::memory_order_relaxed);
    do {
        returned->next = first;
    } while (
        !stack.compare_exchange_weak(first, returned, std::memory_order_release, std::memory_order_relaxed));
}

BlockHeader *make_share(Pool &pool, std::uint32_t worker, BlockHeader *block) {
    void *memory = allocate_block(pool, sizeof(Share));
    if (!memory) {
        return nullptr;
    }
    BlockHeader *of = block->is_share ? static_cast<Share *>(block)->of : block;
    of->uses.fetch_add(1, std::memory_order_relaxed);
    return new (memory) Share{{.uses = 1,
                               .size_class = static_cast<std::uint16_t>(class_of(sizeof(Share))),
                               .worker = static_cast<std::uint16_t>(worker),
                               .items = 0,
                               .is_share = true},
                              of};
}

BlockHeader *end_block(Worker &mine, BlockHeader *block) {
    BlockHeader *of = block->is_share ? static_cast<Share *>(block)->of : nullptr;
    free_block_of(mine, block->worker, block, block->size_class);
    return of;
}

void empty_pool(Pool &pool) {
    take_returned(pool, pool, pool.lists[0]);
    for (std::uint32_t size_class = 0; size_class < size_classes; size_class++) {
        while (pool.lists[size_class].count != 0) {
            give_one(pool.lists[size_class], size_class);
        }
    }
}

} // namespace ndpc
