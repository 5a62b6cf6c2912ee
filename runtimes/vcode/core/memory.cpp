// SPDX-License-Identifier: Apache-2.0 OR MIT
// Free lists by size class, and the blocks made from them.
#include "memory.h"

#include "lazy.h"

// The address sanitizer is told which bytes of a block are in use.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define FORBID(memory, bytes) ASAN_POISON_MEMORY_REGION(memory, bytes)
#define PERMIT(memory, bytes) ASAN_UNPOISON_MEMORY_REGION(memory, bytes)
#else
#define FORBID(memory, bytes) ((void)(bytes))
#define PERMIT(memory, bytes) ((void)(bytes))
#endif

namespace hadal::vcode {

namespace {

struct Free {
    Free *next;
};

constexpr uint32_t CLASSES = 176;
constexpr uint64_t SLAB_BYTES = 256 << 10;
constexpr uint64_t SMALL_BYTES = 16 << 10; // up to this size blocks are cut from slabs
constexpr uint64_t LEAST_BYTES = 64;

Free *free_lists[CLASSES];
char *slab, *slab_end;
uint64_t bound, used; // bytes from hrt_alloc()

// Class 4k+s has 64 * 2^k * (1 + s/4) bytes.
uint32_t class_for(uint64_t bytes) {
    if (bytes <= LEAST_BYTES) {
        return 0;
    }
    uint32_t log = 63 - static_cast<uint32_t>(__builtin_clzll(bytes - 1));
    uint32_t quarter = static_cast<uint32_t>((bytes - 1) >> (log - 2) & 3);
    return 4 * (log - 6) + quarter + 1;
}

void *from_machine(uint64_t bytes) {
    if (bytes > bound || used > bound - bytes) {
        return nullptr;
    }
    uint32_t flags = bytes > SLAB_BYTES && hrt_zone_count() > 1 ? HRT_ALLOC_INTERLEAVE : 0;
    void *memory = hrt_alloc_aligned(bytes, HRT_CACHE_LINE, HRT_ZONE_ANY, flags);
    if (memory != nullptr) {
        used += bytes;
    }
    return memory;
}

// Gives the large blocks of all free lists back to the machine.
bool purge() {
    bool any = false;
    for (uint32_t index = class_for(SMALL_BYTES) + 1; index < CLASSES; index++) {
        while (Free *block = free_lists[index]) {
            free_lists[index] = block->next;
            PERMIT(block, class_bytes(static_cast<uint16_t>(index)));
            hrt_free(block);
            used -= class_bytes(static_cast<uint16_t>(index));
            any = true;
        }
    }
    return any;
}

void *from_machine_or_purge(uint64_t bytes) {
    void *memory = from_machine(bytes);
    if (memory == nullptr && purge()) {
        memory = from_machine(bytes);
    }
    return memory;
}

[[gnu::noinline]] void *take_slow(uint32_t index) {
    uint64_t bytes = class_bytes(static_cast<uint16_t>(index));
    if (bytes > SMALL_BYTES) {
        return from_machine_or_purge(bytes);
    }
    if (static_cast<uint64_t>(slab_end - slab) < bytes) {
        char *fresh = static_cast<char *>(from_machine_or_purge(SLAB_BYTES));
        if (fresh == nullptr) {
            return nullptr;
        }
        slab = fresh;
        slab_end = fresh + SLAB_BYTES;
    }
    void *memory = slab;
    slab += bytes;
    return memory;
}

void give_block(Block *block) {
    if (block->data != nullptr && block->data_class != DATA_INSIDE) {
        give(block->data, block->data_class);
    }
    give(block, block->header_class);
}

Block *new_header(uint64_t bytes) {
    uint16_t size_class;
    Block *block = static_cast<Block *>(take(bytes, size_class));
    if (block != nullptr) {
        block->references = 1;
        block->header_class = size_class;
        block->data_class = DATA_INSIDE;
        block->data = nullptr;
        block->pending = nullptr;
    }
    return block;
}

} // namespace

uint64_t class_bytes(uint16_t size_class) {
    return (LEAST_BYTES << size_class / 4) / 4 * (4 + size_class % 4);
}

void memory_bound(uint64_t bytes) {
    bound = bytes;
    if (bytes == 0) {
        for (uint32_t zone = 0; zone < hrt_zone_count(); zone++) {
            struct hrt_zone_info info;
            if (hrt_zone_info(zone, &info) == HRT_OK) {
                bound += info.total_bytes / 8 * 7;
            }
        }
    }
}

void *take(uint64_t bytes, uint16_t &size_class) {
    uint32_t index = class_for(bytes);
    if (HRT_UNLIKELY(index >= CLASSES)) {
        return nullptr;
    }
    // Of large blocks one of up to twice the size serves as well: it is warm, a new one is not.
    uint32_t last = bytes > SMALL_BYTES && index + 4 < CLASSES ? index + 4 : index;
    for (uint32_t found = index; found <= last; found++) {
        if (Free *block = free_lists[found]) {
            size_class = static_cast<uint16_t>(found);
            free_lists[found] = block->next;
            PERMIT(block, bytes);
            return block;
        }
    }
    size_class = static_cast<uint16_t>(index);
    void *memory = take_slow(index);
    if (memory != nullptr) {
        FORBID(memory, class_bytes(size_class));
        PERMIT(memory, bytes);
    }
    return memory;
}

void give(void *memory, uint16_t size_class) {
    Free *block = static_cast<Free *>(memory);
    FORBID(memory, class_bytes(size_class));
    PERMIT(memory, sizeof(Free));
    block->next = free_lists[size_class];
    free_lists[size_class] = block;
}

void *take_array(uint64_t bytes) {
    // The size is kept in front, to be known when the array is given back.
    char *memory = static_cast<char *>(from_machine_or_purge(bytes + HRT_CACHE_LINE));
    if (memory == nullptr) {
        return nullptr;
    }
    uint64_t all = bytes + HRT_CACHE_LINE;
    memcpy(memory, &all, sizeof all);
    return memory + HRT_CACHE_LINE;
}

void give_array(void *memory) {
    if (memory != nullptr) {
        char *start = static_cast<char *>(memory) - HRT_CACHE_LINE;
        uint64_t all;
        memcpy(&all, start, sizeof all);
        used -= all;
        hrt_free(start);
    }
}

bool make_vector(Cell &cell, Type type, uint64_t length) {
    if (length > LENGTH_MAX) {
        return false;
    }
    uint64_t bytes = length * element_bytes(type);
    cell.head = head_of(type, bytes > 8, static_cast<uint32_t>(length));
    cell.word = 0;
    if (bytes <= 8) {
        return true;
    }
    bool inside = bytes + sizeof(Block) <= SMALL_BYTES;
    Block *block = new_header(inside ? sizeof(Block) + bytes : sizeof(Block));
    if (block == nullptr) {
        return false;
    }
    if (inside) {
        block->data = block + 1;
        block->bytes = class_bytes(block->header_class) - sizeof(Block);
    } else {
        uint16_t data_class;
        block->data = take(bytes, data_class);
        if (block->data == nullptr) {
            give_block(block);
            return false;
        }
        block->data_class = data_class;
        block->bytes = class_bytes(data_class);
    }
    cell.block = block;
    return true;
}

bool make_segments(Cell &cell, Cell lengths, uint32_t total) {
    if (lengths.length == 1) {
        cell = segdes_cell(total);
        return true;
    }
    Segments *segments = reinterpret_cast<Segments *>(new_header(sizeof(Segments)));
    if (segments == nullptr) {
        release(lengths);
        return false;
    }
    segments->lengths = lengths;
    segments->total = total;
    uint16_t data_class;
    segments->block.data = take((static_cast<uint64_t>(lengths.length) + 1) * sizeof(Int), data_class);
    segments->block.data_class = data_class;
    cell.head = head_of(Type::Segdes, true, lengths.length);
    cell.segments = segments;
    if (segments->block.data == nullptr) {
        release(cell);
        return false;
    }
    return true;
}

bool make_pair(Cell &cell, const Cell &first, const Cell &second) {
    PairBlock *pair = reinterpret_cast<PairBlock *>(new_header(sizeof(PairBlock)));
    if (pair == nullptr) {
        return false;
    }
    pair->first = first;
    pair->second = second;
    cell.head = head_of(Type::Pair, true, 0);
    cell.pair = pair;
    return true;
}

const char *type_name(Type type) {
    static const char *const names[] = {"NONE", "INT", "BOOL", "FLOAT", "SEGDES", "PAIR"};
    return names[static_cast<uint8_t>(type)];
}

// Pairs and pending vectors refer to other cells, as deep as the program likes: so without recursion. What is
// to be freed is in a list through the blocks.
void free_block(Cell cell) {
    Block *pairs = nullptr;
    auto drop = [&pairs](const Cell &inner) {
        if (inner.in_block && --inner.block->references == 0) {
            if (inner.type == Type::Pair) {
                inner.block->next = pairs;
                pairs = inner.block;
            } else if (inner.type == Type::Segdes) {
                release(inner.segments->lengths);
                give_block(inner.block);
            } else {
                if (inner.block->data == nullptr && inner.block->pending != nullptr) {
                    pending_drop(inner.block->pending);
                }
                give_block(inner.block);
            }
        }
    };
    cell.block->references = 1;
    drop(cell);
    while (pairs != nullptr) {
        PairBlock *pair = reinterpret_cast<PairBlock *>(pairs);
        pairs = pairs->next;
        drop(pair->first);
        drop(pair->second);
        give_block(&pair->block);
    }
}

} // namespace hadal::vcode
