// SPDX-License-Identifier: Apache-2.0 OR MIT
// Allocators: the predefined ones, those that programs make, and those that OMP_ALLOCATOR describes.
#include "allocator_traits.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "core/allocator.h"
#include "core/team.h"
#include "core/text.h"
#include "routine.h"

namespace hadal::omp {

namespace {

struct Predefined {
    const char *name;
    uintptr_t space;
};
constexpr Predefined PREDEFINED[ALLOCATORS_PREDEFINED] = {{"omp_null_allocator", SpaceDefault},
                                                          {"omp_default_mem_alloc", SpaceDefault},
                                                          {"omp_large_cap_mem_alloc", SpaceLargeCapacity},
                                                          {"omp_const_mem_alloc", SpaceConst},
                                                          {"omp_high_bw_mem_alloc", SpaceHighBandwidth},
                                                          {"omp_low_lat_mem_alloc", SpaceLowLatency},
                                                          {"omp_cgroup_mem_alloc", SpaceDefault},
                                                          {"omp_pteam_mem_alloc", SpaceDefault},
                                                          {"omp_thread_mem_alloc", SpaceDefault}};
constexpr const char *SPACE_NAMES[SPACES] = {"omp_default_mem_space", "omp_large_cap_mem_space",
                                             "omp_const_mem_space", "omp_high_bw_mem_space",
                                             "omp_low_lat_mem_space"};

constinit Allocator predefined[ALLOCATORS_PREDEFINED] = {{},
                                                         {},
                                                         {.space = SpaceLargeCapacity},
                                                         {.space = SpaceConst},
                                                         {.space = SpaceHighBandwidth},
                                                         {.space = SpaceLowLatency},
                                                         {},
                                                         {},
                                                         {}};

bool is_between(uintptr_t value, uintptr_t least, uintptr_t most) { return value >= least && value <= most; }

bool apply(Allocator *allocator, int32_t key, uintptr_t value) {
    bool is_default = value == ValueDefault;
    switch (key) {
    case KeySyncHint:
        // Allocation takes no lock of ours: it is the same however many threads there are.
        return is_default || is_between(value, ValueContended, ValuePrivate);
    case KeyAlignment:
        if (!is_default && (value == 0 || (value & (value - 1)) != 0)) {
            return false;
        }
        allocator->alignment = is_default ? 1 : value;
        return true;
    case KeyAccess:
        // All memory can be reached by all threads.
        return is_default || is_between(value, ValueAll, ValueCgroup);
    case KeyPoolSize:
        allocator->pool_size = value;
        return true;
    case KeyFallback:
        if (!is_default && !is_between(value, ValueDefaultMemory, ValueAllocator)) {
            return false;
        }
        allocator->fallback = is_default ? static_cast<uintptr_t>(ValueDefaultMemory) : value;
        return true;
    case KeyFallbackData:
        allocator->fallback_allocator = is_default ? 0 : value;
        return true;
    case KeyPinned:
        allocator->is_pinned = value == ValueTrue;
        return is_default || value == ValueTrue || value == ValueFalse;
    case KeyPartition:
        allocator->partition = is_default ? static_cast<uintptr_t>(ValueEnvironment) : value;
        return is_default || is_between(value, ValueEnvironment, ValueInterleaved);
    default:
        return false;
    }
}

struct Word {
    const char *word;
    uintptr_t value;
};
constexpr Word KEY_WORDS[] = {{"sync_hint", KeySyncHint}, {"alignment", KeyAlignment},
                              {"access", KeyAccess},      {"pool_size", KeyPoolSize},
                              {"fallback", KeyFallback},  {"fb_data", KeyFallbackData},
                              {"pinned", KeyPinned},      {"partition", KeyPartition}};
constexpr Word VALUE_WORDS[] = {{"true", ValueTrue},
                                {"false", ValueFalse},
                                {"default", ValueDefault},
                                {"contended", ValueContended},
                                {"uncontended", ValueUncontended},
                                {"serialized", ValueSerialized},
                                {"sequential", ValueSerialized},
                                {"private", ValuePrivate},
                                {"all", ValueAll},
                                {"thread", ValueThread},
                                {"pteam", ValuePteam},
                                {"cgroup", ValueCgroup},
                                {"default_mem_fb", ValueDefaultMemory},
                                {"null_fb", ValueNull},
                                {"abort_fb", ValueAbort},
                                {"allocator_fb", ValueAllocator},
                                {"environment", ValueEnvironment},
                                {"nearest", ValueNearest},
                                {"blocked", ValueBlocked},
                                {"interleaved", ValueInterleaved}};

template <size_t count> bool take(Text *text, const Word (&words)[count], uintptr_t *value) {
    for (const Word &word : words) {
        if (text->take_word(word.word)) {
            *value = word.value;
            return true;
        }
    }
    return false;
}

bool take_predefined(Text *text, uintptr_t *handle) {
    for (uintptr_t number = ALLOCATOR_DEFAULT; number < ALLOCATORS_PREDEFINED; number++) {
        if (text->take_word(PREDEFINED[number].name)) {
            *handle = number;
            return true;
        }
    }
    return false;
}

bool take_trait(Text *text, Trait *trait) {
    uintptr_t key;
    if (!take(text, KEY_WORDS, &key) || !text->take('=')) {
        return false;
    }
    trait->key = static_cast<int32_t>(key);
    if (key == KeyAlignment || key == KeyPoolSize) {
        return text->take_number(&trait->value);
    }
    return key == KeyFallbackData ? take_predefined(text, &trait->value)
                                  : take(text, VALUE_WORDS, &trait->value);
}

} // namespace

bool apply_traits(Allocator *allocator, uintptr_t space, int count, const Trait *traits) {
    if (space >= SPACES) {
        return false;
    }
    allocator->space = space;
    for (int index = 0; index < count; index++) {
        if (!apply(allocator, traits[index].key, traits[index].value)) {
            return false;
        }
    }
    return allocator->fallback != ValueAllocator || allocator_of(allocator->fallback_allocator) != nullptr;
}

Allocator *allocator_of(uintptr_t handle) {
    if (handle >= ALLOCATORS_PREDEFINED) {
        // Small numbers are allocators of devices (clang's omp.h).
        return handle < 4096 ? nullptr : reinterpret_cast<Allocator *>(handle);
    }
    return handle == 0 ? nullptr : &predefined[handle];
}

uintptr_t allocator_new(uintptr_t space, int count, const Trait *traits) {
    Allocator described;
    if (!apply_traits(&described, space, count, traits)) {
        return 0;
    }
    void *memory = malloc(sizeof(Allocator));
    return memory == nullptr ? 0 : reinterpret_cast<uintptr_t>(::new (memory) Allocator(described));
}

uintptr_t allocator_from_text(const char *value) {
    Text text(value);
    uintptr_t handle;
    if (take_predefined(&text, &handle)) {
        return text.is_over() ? handle : 0;
    }
    uintptr_t space = 0;
    while (!text.take_word(SPACE_NAMES[space])) {
        if (++space == SPACES) {
            return 0;
        }
    }
    constexpr int traits_max = 16;
    Trait traits[traits_max];
    int count = 0;
    if (text.take(':')) {
        do {
            if (count == traits_max || !take_trait(&text, &traits[count++])) {
                return 0;
            }
        } while (text.take(','));
    }
    return text.is_over() ? allocator_new(space, count, traits) : 0;
}

const char *allocator_name(uintptr_t handle) {
    if (handle < ALLOCATORS_PREDEFINED) {
        return PREDEFINED[handle].name;
    }
    const Allocator *allocator = allocator_of(handle);
    return allocator != nullptr ? SPACE_NAMES[allocator->space] : "unknown";
}

} // namespace hadal::omp

using namespace hadal::omp;

OMP_EXPORT uintptr_t omp_init_allocator(uintptr_t space, int count, const Trait *traits) {
    return allocator_new(space, count, traits);
}

OMP_EXPORT void omp_destroy_allocator(uintptr_t handle) {
    if (handle >= ALLOCATORS_PREDEFINED) {
        free(allocator_of(handle));
    }
}

OMP_EXPORT uintptr_t omp_init_allocator_(const uintptr_t *space, const int32_t *count, const Trait *traits) {
    return allocator_new(*space, *count, traits);
}
OMP_EXPORT uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *count,
                                           const Trait *traits) {
    return allocator_new(*space, to_int(*count), traits);
}
OMP_EXPORT void omp_destroy_allocator_(const uintptr_t *handle) { omp_destroy_allocator(*handle); }
