// SPDX-License-Identifier: Apache-2.0 OR MIT
// Stores past the caches, for results that would not stay there: a line that is written as a whole is not
// read from memory first, which is a quarter of what an operation on two vectors moves.
#ifndef HADAL_VCODE_NONTEMPORAL_H
#define HADAL_VCODE_NONTEMPORAL_H

#include <cstdint>
#include <cstring>
#include <emmintrin.h>

namespace hadal::vcode {

// Whether it pays for a result of so many bytes.
bool nontemporal_pays(uint64_t bytes);

// `to` is at a multiple of 16 bytes.
inline void copy_nontemporal(void *to, const void *from, uint64_t bytes) {
    constexpr uint64_t PART = sizeof(__m128i);
    char *into = static_cast<char *>(to);
    const char *source = static_cast<const char *>(from);
    uint64_t at = 0;
    for (; at + PART <= bytes; at += PART) {
        _mm_stream_si128(reinterpret_cast<__m128i *>(into + at),
                         _mm_loadu_si128(reinterpret_cast<const __m128i *>(source + at)));
    }
    memcpy(into + at, source + at, bytes - at);
}

// Orders these stores before what other CPUs see next: they are not ordered otherwise (AMD64 Architecture
// Programmer's Manual, volume 2, 7.4.1).
inline void fence_nontemporal() { _mm_sfence(); }

} // namespace hadal::vcode

#endif
