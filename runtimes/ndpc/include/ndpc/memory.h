// SPDX-License-Identifier: Apache-2.0 OR MIT
// Storage of sequences: blocks from the pool of the worker that asks. A small block goes back to that pool,
// whoever gives it up: what lies beside it in a cache line stays with one worker. What is too much there
// moves on to a pool that all share, in batches.
#ifndef NDPC_MEMORY_H
#define NDPC_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ndpc {

struct Worker;

// Small blocks have a class for each 16 bytes, so that many short sequences take little more memory than they
// need; larger ones have four classes for each doubling. Several blocks in one cache line would be those of
// several workers before long: a sort of short sequences took twice as long on two cores. No more classes
// than that: a thread that ends looks at each.
constexpr std::size_t least_bytes = 64;
constexpr std::size_t class_step = 16;
constexpr std::uint32_t small_log = 9;
constexpr std::size_t small_bytes = std::size_t{1} << small_log;
constexpr std::uint32_t small_classes = (small_bytes - least_bytes) / class_step + 1;
constexpr std::uint32_t largest_log = 41;
constexpr std::uint32_t size_classes = small_classes + 4 * (largest_log - small_log);

constexpr std::size_t class_bytes(std::uint32_t size_class) {
    if (size_class < small_classes) {
        return least_bytes + size_class * class_step;
    }
    std::uint32_t larger = size_class - small_classes;
    return (std::size_t{5} + larger % 4) * (small_bytes / 4) << larger / 4;
}

constexpr std::uint32_t class_of(std::size_t bytes) {
    if (bytes <= least_bytes) {
        return 0;
    }
    std::size_t last = bytes - 1;
    if (bytes <= small_bytes) {
        return static_cast<std::uint32_t>((last - least_bytes) / class_step) + 1;
    }
    auto top = static_cast<std::uint32_t>(63 - __builtin_clzll(last));
    return small_classes + (top - small_log) * 4 + static_cast<std::uint32_t>(last >> (top - 2) & 3);
}
static_assert(class_of(small_bytes) + 1 == small_classes && class_of(small_bytes + 1) == small_classes);

struct FreeBlock {
    FreeBlock *next;
    std::uint32_t size_class; // of one that is returned
};

// What a worker keeps for itself.
struct Pool {
    struct List {
        FreeBlock *first;
        std::uint32_t count;
    };
    List lists[size_classes];
    char *chunk; // not yet parted into blocks
    std::size_t chunk_bytes;
    std::size_t next_chunk_bytes; // each is larger than the one before, up to a limit
    // Blocks of this pool that other workers have given up.
    alignas(64) std::atomic<FreeBlock *> returned;
};

// Whether there are pools: sanitizers must see each block come and go.
extern const bool pools;

// A block of the class that `bytes` need, or null.
void *allocate_block(Pool &pool, std::size_t bytes);
// Of a block that the pool's own worker has allocated.
void free_block(Pool &pool, void *block, std::uint32_t size_class);
// Of one that worker number `maker` has allocated.
void free_block_of(Worker &mine, std::uint32_t maker, void *block, std::uint32_t size_class);
// Gives what the pool has to the shared one.
void empty_pool(Pool &pool);

// What precedes the items of a block.
struct alignas(16) BlockHeader {
    std::atomic<std::uint32_t> uses;
    std::uint16_t size_class;
    std::uint16_t worker; // number of the one that made it, or of one of those that are too many for one each
    std::uint32_t items;  // constructed ones
    bool is_share;
};
static_assert(sizeof(BlockHeader) == 16 && size_classes <= 0xffff);

// One use of a block, in memory of a worker that is not the block's: what it takes from the block's items,
// and takes from that, counts here. Workers that take a sequence apart together would else all count in one
// place.
struct Share : BlockHeader {
    BlockHeader *of; // no share
};

// A share with one use, of the block that `block` is or is a share of. Null: there is no memory for it.
BlockHeader *make_share(Pool &pool, std::uint32_t worker, BlockHeader *block);
// Frees a block without uses; of a share gives the block whose use it was, else null.
BlockHeader *end_block(Worker &mine, BlockHeader *block);

} // namespace ndpc

#endif
