// SPDX-License-Identifier: Apache-2.0 OR MIT
// Free blocks by thread. A block goes back to the thread that has taken it from the system, so that a thread
// that only generates tasks does not run out while those that only run them hoard.
#include "memory.h"

#include <cstdlib>
#include <cstring>

namespace hadal::omp {

namespace {

constexpr size_t LINE = HRT_CACHE_LINE;
constexpr size_t SLAB_BYTES = 64 << 10;

void *lines(size_t bytes) {
    void *memory = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (memory == nullptr) {
        fatal("there is no memory for %zu bytes", bytes);
    }
    return memory;
}

// Takes memory for many blocks from the system; the first is the caller's.
[[gnu::noinline]] Block *refill(FreeBlocks &blocks, size_t block_bytes) {
    size_t count = SLAB_BYTES / block_bytes;
    char *slab = static_cast<char *>(lines(count * block_bytes));
    for (size_t index = 1; index < count; index++) {
        blocks.own = ::new (slab + index * block_bytes) Block{blocks.own};
    }
    return ::new (slab) Block{nullptr};
}

Block *take(FreeBlocks &blocks, size_t block_bytes) {
    if (HRT_UNLIKELY(blocks.own == nullptr)) {
        blocks.own = HRT_EXCHANGE(&blocks.returned, nullptr, HRT_ACQUIRE);
        if (blocks.own == nullptr) {
            return refill(blocks, block_bytes);
        }
    }
    Block *block = blocks.own;
    blocks.own = block->next;
    return block;
}

} // namespace

Task *task_memory_take_slow(Thread &thread, size_t payload_bytes) {
    uint32_t size_class = 0;
    while (size_class < BLOCK_CLASSES && PAYLOAD_BYTES[size_class] < payload_bytes) {
        size_class++;
    }
    if (HRT_UNLIKELY(size_class == LARGE)) {
        void *payload = lines(payload_bytes);
        Task *task = task_in(take(thread.blocks[0], TASK_BYTES + PAYLOAD_BYTES[0]), thread, LARGE);
        task->large_payload = payload;
        return task;
    }
    Block *block = take(thread.blocks[size_class], TASK_BYTES + PAYLOAD_BYTES[size_class]);
    return task_in(block, thread, size_class);
}

void task_memory_give_slow(Thread &thread, Task *task) {
    uint32_t size_class = task->memory_class;
    if (HRT_UNLIKELY(size_class == LARGE)) {
        free(task->large_payload);
        size_class = 0;
    }
    Thread &owner = *task->memory_owner;
    FreeBlocks &blocks = owner.blocks[size_class];
    Block *block = reinterpret_cast<Block *>(task);
    if (HRT_LIKELY(&owner == &thread)) {
        block->next = blocks.own;
        blocks.own = block;
        return;
    }
    Block *first = HRT_LOAD(&blocks.returned, HRT_RELAXED);
    do {
        block->next = first;
    } while (!HRT_CAS(&blocks.returned, &first, block, HRT_RELEASE));
}

void *permanent_memory(size_t bytes) { return memset(lines(bytes), 0, bytes); }

} // namespace hadal::omp
