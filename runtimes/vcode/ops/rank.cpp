// SPDX-License-Identifier: Apache-2.0 OR MIT
// RANK_UP and RANK_DOWN: small segments by insertion, larger ones by radix sort, both stable.
#include "operands.h"
#include "routines.h"

namespace hadal::vcode {

namespace {

constexpr uint32_t DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS;
constexpr uint64_t INSERTION = 32; // elements up to which insertion is the fastest

// Keys whose unsigned order is the order wanted. FLOAT: IEEE's total order.
template <bool down> uint32_t key_of(Int value) {
    uint32_t key = static_cast<uint32_t>(value) ^ 0x80000000u;
    return down ? ~key : key;
}
template <bool down> uint64_t key_of(Float value) {
    uint64_t key;
    memcpy(&key, &value, sizeof key);
    key = key >> 63 ? ~key : key | 1ull << 63;
    return down ? ~key : key;
}

template <typename K> struct Entry {
    K key;
    uint32_t place;
};

template <typename T> using KeyOf = decltype(key_of<false>(T{}));

template <typename T, bool down>
void rank_small(const T *values, Int *ranks, uint64_t count, Entry<KeyOf<T>> *entries) {
    for (uint64_t index = 0; index < count; index++) {
        Entry<KeyOf<T>> entry{key_of<down>(values[index]), static_cast<uint32_t>(index)};
        uint64_t at = index;
        while (at > 0 && entries[at - 1].key > entry.key) {
            entries[at] = entries[at - 1];
            at--;
        }
        entries[at] = entry;
    }
    for (uint64_t index = 0; index < count; index++) {
        ranks[entries[index].place] = static_cast<Int>(index);
    }
}

// By the digits of the keys, the least first. A digit that all keys have in common costs nothing.
template <typename T, bool down>
void rank_radix(const T *values, Int *ranks, uint64_t count, Entry<KeyOf<T>> *entries,
                Entry<KeyOf<T>> *other) {
    using K = KeyOf<T>;
    constexpr uint32_t ROUNDS = sizeof(K);
    uint32_t places[ROUNDS][DIGITS] = {};
    for (uint64_t index = 0; index < count; index++) {
        K key = key_of<down>(values[index]);
        entries[index] = {key, static_cast<uint32_t>(index)};
        for (uint32_t round = 0; round < ROUNDS; round++) {
            places[round][key >> round * DIGIT_BITS & (DIGITS - 1)]++;
        }
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        uint32_t *counts = places[round];
        if (counts[entries[0].key >> round * DIGIT_BITS & (DIGITS - 1)] == count) {
            continue;
        }
        uint32_t sum = 0;
        for (uint32_t digit = 0; digit < DIGITS; digit++) {
            uint32_t here = counts[digit];
            counts[digit] = sum;
            sum += here;
        }
        for (uint64_t index = 0; index < count; index++) {
            other[counts[entries[index].key >> round * DIGIT_BITS & (DIGITS - 1)]++] = entries[index];
        }
        Entry<K> *sorted = other;
        other = entries;
        entries = sorted;
    }
    for (uint64_t index = 0; index < count; index++) {
        ranks[entries[index].place] = static_cast<Int>(index);
    }
}

// The same for a long segment, by parts: each counts its digits, and the parts move their entries in their
// order, so the sort stays stable whoever does which part.
constexpr uint64_t LONG = 65536, PART = 16384;

template <typename T, bool down>
bool rank_long(const T *values, Int *ranks, uint64_t count, Entry<KeyOf<T>> *entries,
               Entry<KeyOf<T>> *other) {
    using K = KeyOf<T>;
    struct Places {
        uint32_t of[DIGITS];
    };
    uint64_t parts = (count + PART - 1) / PART;
    Scratch<Places> places(parts);
    if (!places) {
        return false;
    }
    auto for_parts = [=](auto body) {
        share(parts, PART, [&](uint64_t part) {
            uint64_t from = part * PART;
            body(part, from, from + PART < count ? from + PART : count);
        });
    };
    for_parts([=](uint64_t, uint64_t from, uint64_t to) {
        for (uint64_t index = from; index < to; index++) {
            entries[index] = {key_of<down>(values[index]), static_cast<uint32_t>(index)};
        }
    });
    for (uint32_t shift = 0; shift < sizeof(K) * 8; shift += DIGIT_BITS) {
        for_parts([&](uint64_t part, uint64_t from, uint64_t to) {
            uint32_t *counts = places[part].of;
            memset(counts, 0, sizeof(Places));
            for (uint64_t index = from; index < to; index++) {
                counts[entries[index].key >> shift & (DIGITS - 1)]++;
            }
        });
        uint32_t sum = 0;
        bool one_digit = false;
        for (uint32_t digit = 0; digit < DIGITS; digit++) {
            uint32_t before = sum;
            for (uint64_t part = 0; part < parts; part++) {
                uint32_t here = places[part].of[digit];
                places[part].of[digit] = sum;
                sum += here;
            }
            one_digit |= sum - before == count;
        }
        if (one_digit) {
            continue;
        }
        for_parts([&](uint64_t part, uint64_t from, uint64_t to) {
            uint32_t *next = places[part].of;
            for (uint64_t index = from; index < to; index++) {
                other[next[entries[index].key >> shift & (DIGITS - 1)]++] = entries[index];
            }
        });
        Entry<K> *sorted = other;
        other = entries;
        entries = sorted;
    }
    for_parts([=](uint64_t, uint64_t from, uint64_t to) {
        for (uint64_t index = from; index < to; index++) {
            ranks[entries[index].place] = static_cast<Int>(index);
        }
    });
    return true;
}

template <typename T, bool down> bool routine_rank(Machine &machine, const Instruction &) {
    if (!need(machine, 2)) {
        return false;
    }
    Cell &vector = machine.top[-2], &descriptor = machine.top[-1];
    if (!want(machine, vector, TypeOf<T>::value, "the vector") ||
        !want(machine, descriptor, Type::Segdes, "the descriptor") ||
        !compatible(machine, vector, descriptor)) {
        return false;
    }
    Bounds bounds(descriptor);
    Scratch<Entry<KeyOf<T>>> entries(2 * static_cast<uint64_t>(bounds.total));
    if (!entries) {
        return machine.out_of_memory();
    }
    Cell result;
    Int *ranks = new_result<Int>(machine, result, vector.length);
    if (ranks == nullptr) {
        return false;
    }
    const T *values = elements<T>(vector);
    // Segments that are not long belong to the block that they begin in.
    uint64_t items = bounds.items();
    for_blocks(items, [&](uint64_t, uint64_t from, uint64_t to) {
        uint64_t segment = segment_of_item(bounds, from);
        segment += bounds.start(segment) + segment < from;
        for (; segment < bounds.segments && bounds.start(segment) + segment < to; segment++) {
            uint64_t start = bounds.start(segment), count = bounds.length(segment);
            Entry<KeyOf<T>> *own = entries.get() + 2 * start;
            if (count <= INSERTION) {
                rank_small<T, down>(values + start, ranks + start, count, own);
            } else if (count < LONG) {
                rank_radix<T, down>(values + start, ranks + start, count, own, own + count);
            }
        }
    });
    for (uint64_t segment = 0; bounds.total >= LONG && segment < bounds.segments; segment++) {
        uint64_t start = bounds.start(segment), count = bounds.length(segment);
        Entry<KeyOf<T>> *own = entries.get() + 2 * start;
        if (count >= LONG && !rank_long<T, down>(values + start, ranks + start, count, own, own + count)) {
            release(result);
            return machine.out_of_memory();
        }
    }
    return finish(machine, 2, result);
}

} // namespace

Routine rank_routine(Suffix suffix, bool down) {
    if (suffix == Suffix::Int) {
        return down ? routine_rank<Int, true> : routine_rank<Int, false>;
    }
    return down ? routine_rank<Float, true> : routine_rank<Float, false>;
}

} // namespace hadal::vcode
