// SPDX-License-Identifier: Apache-2.0 OR MIT
// Storage of sequences: blocks from the pool of the worker that asks. A block goes back to the pool of the
// worker that gives it up; what is too much there moves on to a pool that all share, in batches.
#ifndef NDPC_MEMORY_H
#define NDPC_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ndpc {

// Four classes for each doubling of the size, from 64 bytes on.
constexpr std::uint32_t size_classes = 4 * 40;
constexpr std::size_t smallest_block = 64;

constexpr std::size_t class_bytes(std::uint32_t size_class) {
    return (std::size_t{4} + size_class % 4) << (size_class / 4 + 4);
}

constexpr std::uint32_t class_of(std::size_t bytes) {
    if (bytes <= smallest_block) {
        return 0;
    }
    std::size_t last = bytes - 1;
    auto top = static_cast<std::uint32_t>(63 - __builtin_clzll(last));
    return (top - 6) * 4 + static_cast<std::uint32_t>(last >> (top - 2) & 3) + 1;
}

struct FreeBlock {
    FreeBlock *next;
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
};

// A block of the class that `bytes` need, or null.
void *allocate_block(Pool &pool, std::size_t bytes);
void free_block(Pool &pool, void *block, std::uint32_t size_class);
// Gives what the pool has to the shared one.
void empty_pool(Pool &pool);

// What precedes the items of a block.
struct alignas(16) BlockHeader {
    std::atomic<std::uint32_t> uses;
    std::uint32_t size_class;
    std::int64_t items; // constructed ones
};

} // namespace ndpc

#endif
