// SPDX-License-Identifier: Apache-2.0 OR MIT
// Allocation. In front of each block is a header with what frees it: libc's memory for most, memory of a zone
// for high bandwidth (of all zones in turn), low latency (of the caller's) and traits about places, pages of
// their own for pinned memory.
#include "core/allocator.h"

#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

#include "allocator_traits.h"
#include "core/team.h"
#include "routine.h"

namespace hadal::omp {

namespace {

enum class Source : uint32_t { Libc, Zone, Pages };

struct alignas(16) Header {
    void *memory;        // what the source gave
    size_t memory_bytes; // how much
    size_t bytes;        // that the program asked for
    uintptr_t allocator; // that the pool is of, and that a later omp_realloc uses
    uint32_t front;      // bytes from `memory` to the block
    Source source;
};
constexpr size_t ALIGN_LEAST = 16, ALIGN_MOST = 1 << 30;

Header &header_of(void *block) { return static_cast<Header *>(block)[-1]; }

struct Placement {
    bool is_by_zone = false;
    int32_t zone = HRT_ZONE_ANY;
    uint32_t flags = 0;
};

int32_t nearest_zone() {
    struct hrt_cpu_info info;
    return hrt_cpu_info(hrt_cpu_self(), &info) == HRT_OK ? static_cast<int32_t>(info.zone) : HRT_ZONE_ANY;
}

Placement placement_of(const Allocator &allocator) {
    bool is_interleaved = allocator.partition == ValueInterleaved ||
                          (allocator.space == SpaceHighBandwidth && allocator.partition == ValueEnvironment);
    if (is_interleaved) {
        return {true, HRT_ZONE_ANY, HRT_ALLOC_INTERLEAVE};
    }
    if (allocator.partition == ValueNearest || allocator.space == SpaceLowLatency) {
        return {true, nearest_zone(), 0};
    }
    return {allocator.space == SpaceHighBandwidth, HRT_ZONE_ANY, 0};
}

bool take_memory(const Allocator &allocator, Header *header, bool is_zeroed) {
    size_t bytes = header->memory_bytes;
    Placement placement = placement_of(allocator);
    if (allocator.is_pinned) {
        header->source = Source::Pages;
        void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) {
            return false;
        }
        if (mlock(pages, bytes) != 0) {
            munmap(pages, bytes);
            return false;
        }
        header->memory = pages;
    } else if (placement.is_by_zone) {
        header->source = Source::Zone;
        header->memory = hrt_alloc(bytes, placement.zone, placement.flags | (is_zeroed ? HRT_ALLOC_ZERO : 0));
    } else {
        header->source = Source::Libc;
        header->memory = is_zeroed ? calloc(1, bytes) : malloc(bytes);
    }
    return header->memory != nullptr;
}

void give_memory(const Header &header) {
    switch (header.source) {
    case Source::Libc:
        free(header.memory);
        break;
    case Source::Zone:
        hrt_free(header.memory);
        break;
    case Source::Pages:
        munmap(header.memory, header.memory_bytes);
        break;
    }
}

// Moves what a pool has lent from `before` to `after` bytes, which includes headers; false if it has not
// enough.
bool take_from_pool(Allocator &allocator, size_t before, size_t after) {
    if (HRT_LIKELY(allocator.pool_size == SIZE_MAX)) {
        return true;
    }
    if (after <= before) {
        HRT_FETCH_SUB(&allocator.used, before - after, HRT_RELAXED);
        return true;
    }
    size_t bytes = after - before;
    size_t used = HRT_LOAD(&allocator.used, HRT_RELAXED);
    do {
        if (bytes > allocator.pool_size || used > allocator.pool_size - bytes) {
            return false;
        }
    } while (!HRT_CAS(&allocator.used, &used, used + bytes, HRT_RELAXED));
    return true;
}

void give_to_pool(uintptr_t handle, size_t bytes) {
    if (handle >= ALLOCATORS_PREDEFINED) {
        Allocator &allocator = *allocator_of(handle);
        if (allocator.pool_size != SIZE_MAX) {
            HRT_FETCH_SUB(&allocator.used, bytes, HRT_RELAXED);
        }
    }
}

// `credit`: bytes of the same pool that the new block replaces.
void *allocate_by(uintptr_t handle, Allocator &allocator, size_t align, size_t bytes, bool is_zeroed,
                  size_t credit) {
    Header header = {};
    // The block begins at the first multiple of the alignment that leaves room for the header.
    if (__builtin_add_overflow(bytes, sizeof(Header) + align - ALIGN_LEAST, &header.memory_bytes) ||
        !take_from_pool(allocator, credit, header.memory_bytes)) {
        return nullptr;
    }
    if (!take_memory(allocator, &header, is_zeroed)) {
        // What it was to replace stays, even if others have taken the rest meanwhile.
        give_to_pool(handle, header.memory_bytes - credit);
        return nullptr;
    }
    uintptr_t memory = reinterpret_cast<uintptr_t>(header.memory);
    uintptr_t block = (memory + sizeof(Header) + align - 1) & -align;
    header.bytes = bytes;
    header.allocator = handle;
    header.front = static_cast<uint32_t>(block - memory);
    header_of(reinterpret_cast<void *>(block)) = header;
    return reinterpret_cast<void *>(block);
}

// `replaced`: the header of a block that the new one is to replace, or null.
void *allocate_with(uintptr_t handle, size_t align, size_t bytes, bool is_zeroed,
                    const Header *replaced = nullptr) {
    if (bytes == 0 || (align & (align - 1)) != 0 || align > ALIGN_MOST) {
        return nullptr;
    }
    // Fallbacks may lead from one allocator to the next, but not for ever.
    for (int depth = 0; depth < 16; depth++) {
        if (handle == 0) {
            handle = default_allocator();
        }
        Allocator *allocator = allocator_of(handle);
        if (allocator == nullptr) {
            return nullptr; // of a device, and there is none
        }
        size_t wanted = allocator->alignment > align ? allocator->alignment : align;
        wanted = wanted > ALIGN_LEAST ? wanted : ALIGN_LEAST;
        size_t credit = replaced != nullptr && replaced->allocator == handle ? replaced->memory_bytes : 0;
        if (void *block = allocate_by(handle, *allocator, wanted, bytes, is_zeroed, credit)) {
            return block;
        }
        switch (allocator->fallback) {
        case ValueNull:
            return nullptr;
        case ValueAbort:
            fatal("an allocator has no memory for %zu bytes, and its fallback is to end the program", bytes);
        case ValueAllocator:
            handle = allocator->fallback_allocator;
            break;
        default:
            if (handle == ALLOCATOR_DEFAULT) {
                return nullptr;
            }
            handle = ALLOCATOR_DEFAULT;
        }
    }
    return nullptr;
}

} // namespace

void *allocate(uintptr_t allocator, size_t align, size_t bytes) {
    return allocate_with(allocator, align, bytes, false);
}
void *allocate_zeroed(uintptr_t allocator, size_t align, size_t bytes) {
    return allocate_with(allocator, align, bytes, true);
}

void deallocate(void *block) {
    if (block != nullptr) {
        Header header = header_of(block);
        give_to_pool(header.allocator, header.memory_bytes);
        give_memory(header);
    }
}

uintptr_t default_allocator() { return self().task->icvs->allocator; }

} // namespace hadal::omp

using namespace hadal::omp;

OMP_EXPORT void omp_set_default_allocator(uintptr_t handle) {
    icvs_to_change(*self().task).allocator = handle == 0 ? ALLOCATOR_DEFAULT : handle;
}
OMP_EXPORT uintptr_t omp_get_default_allocator() { return default_allocator(); }

OMP_EXPORT void *omp_alloc(size_t bytes, uintptr_t handle) { return allocate(handle, 0, bytes); }
OMP_EXPORT void *omp_aligned_alloc(size_t align, size_t bytes, uintptr_t handle) {
    return allocate(handle, align, bytes);
}

OMP_EXPORT void *omp_aligned_calloc(size_t align, size_t count, size_t size, uintptr_t handle) {
    size_t bytes;
    return __builtin_mul_overflow(count, size, &bytes) ? nullptr : allocate_zeroed(handle, align, bytes);
}
OMP_EXPORT void *omp_calloc(size_t count, size_t size, uintptr_t handle) {
    return omp_aligned_calloc(0, count, size, handle);
}

OMP_EXPORT void omp_free(void *block, uintptr_t) { deallocate(block); }

OMP_EXPORT void *omp_realloc(void *block, size_t bytes, uintptr_t handle, uintptr_t) {
    if (block == nullptr) {
        return allocate(handle, 0, bytes);
    }
    if (bytes == 0) {
        deallocate(block);
        return nullptr;
    }
    const Header header = header_of(block);
    void *moved = allocate_with(handle == 0 ? header.allocator : handle, 0, bytes, false, &header);
    if (moved == nullptr) {
        return nullptr;
    }
    memcpy(moved, block, bytes < header.bytes ? bytes : header.bytes);
    if (header_of(moved).allocator == header.allocator) {
        give_memory(header); // its pool has had the difference already
    } else {
        deallocate(block);
    }
    return moved;
}

OMP_EXPORT void omp_set_default_allocator_(const uintptr_t *handle) { omp_set_default_allocator(*handle); }
OMP_FORTRAN(uintptr_t, omp_get_default_allocator, ());
