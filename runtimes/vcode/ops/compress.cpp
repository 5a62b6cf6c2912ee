// SPDX-License-Identifier: Apache-2.0 OR MIT
// The loops of compress(). A group of elements that fits into a vector moves at once: its flags are the index
// of a table, which says how to permute it.
#ifndef __clang__
#pragma GCC optimize("O3")
#endif

#include "compress.h"

#include <array>
#include <cstring>
#include <immintrin.h>

namespace hadal::vcode {

namespace {

// What moves the flagged ones of eight lanes to the front: the lanes' numbers, a byte each, by the flags.
// Each lane is `parts` numbers wide.
template <unsigned lanes, unsigned parts> constexpr std::array<uint64_t, 1 << lanes> make_table() {
    std::array<uint64_t, 1 << lanes> table{};
    for (unsigned mask = 0; mask < 1 << lanes; mask++) {
        unsigned place = 0;
        for (unsigned lane = 0; lane < lanes; lane++) {
            for (unsigned part = 0; part < parts && (mask >> lane & 1) != 0; part++) {
                table[mask] |= uint64_t{lane * parts + part} << 8 * place++;
            }
        }
    }
    return table;
}

constexpr std::array<uint64_t, 256> eight_lanes = make_table<8, 1>();
constexpr std::array<uint64_t, 16> four_lanes = make_table<4, 2>();

// Flags are bytes of 0 and 1: the product has them side by side in its highest byte.
unsigned mask_of_eight(const Bool *flags) {
    uint64_t bytes;
    memcpy(&bytes, flags, sizeof bytes);
    return static_cast<unsigned>(bytes * 0x0102040810204080 >> 56);
}

unsigned mask_of_four(const Bool *flags) {
    uint32_t bytes;
    memcpy(&bytes, flags, sizeof bytes);
    return bytes * 0x01020408u >> 24;
}

#define WIDE __attribute__((target("avx2,popcnt")))

WIDE __m256i permuted(const void *values, uint64_t places) {
    __m256i lanes = _mm256_loadu_si256(static_cast<const __m256i *>(values));
    __m256i numbers = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(places)));
    return _mm256_permutevar8x32_epi32(lanes, numbers);
}

// Moves one group; how many of it are flagged. More than these is written: a group's length.
WIDE unsigned move_group(const Int *values, const Bool *flags, Int *results) {
    unsigned mask = mask_of_eight(flags);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(results), permuted(values, eight_lanes[mask]));
    return static_cast<unsigned>(__builtin_popcount(mask));
}

WIDE unsigned move_group(const Float *values, const Bool *flags, Float *results) {
    unsigned mask = mask_of_four(flags);
    _mm256_storeu_si256(reinterpret_cast<__m256i *>(results), permuted(values, four_lanes[mask]));
    return static_cast<unsigned>(__builtin_popcount(mask));
}

WIDE unsigned move_group(const Bool *values, const Bool *flags, Bool *results) {
    unsigned mask = mask_of_eight(flags);
    __m128i numbers = _mm_cvtsi64_si128(static_cast<long long>(eight_lanes[mask]));
    __m128i lanes = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(values));
    _mm_storel_epi64(reinterpret_cast<__m128i *>(results), _mm_shuffle_epi8(lanes, numbers));
    return static_cast<unsigned>(__builtin_popcount(mask));
}

template <typename T> constexpr uint64_t GROUP = sizeof(T) == sizeof(Float) ? 4 : 8;

// Moves groups as long as there is room for a whole one; `index` and `moved` count on.
template <typename T>
WIDE void move_groups(const T *values, const Bool *flags, uint64_t count, T *results, uint64_t flagged,
                      uint64_t &index, uint64_t &moved) {
    uint64_t at = 0, to = 0;
    for (; at + GROUP<T> <= count && to + GROUP<T> <= flagged; at += GROUP<T>) {
        to += move_group(values + at, flags + at, results + to);
    }
    index = at;
    moved = to;
}

} // namespace

template <typename T>
void compress(const T *values, const Bool *flags, uint64_t count, T *results, uint64_t flagged) {
    static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
    uint64_t index = 0, moved = 0;
    if (wide) {
        move_groups(values, flags, count, results, flagged, index, moved);
    }
    // Without a branch on a flag. The last flagged one ends it.
    for (; moved < flagged; index++) {
        results[moved] = values[index];
        moved += flags[index];
    }
}

template void compress(const Int *, const Bool *, uint64_t, Int *, uint64_t);
template void compress(const Bool *, const Bool *, uint64_t, Bool *, uint64_t);
template void compress(const Float *, const Bool *, uint64_t, Float *, uint64_t);

} // namespace hadal::vcode
