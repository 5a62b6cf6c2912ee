// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cross-iteration dependences of loop nests (`ordered(n)`, doacross): a flag for each iteration of the nest.
#ifndef HADAL_OMP_DOACROSS_H
#define HADAL_OMP_DOACROSS_H

#include <cstdint>

namespace hadal::omp {

struct Member;
struct Doacross;

// For the first member to come to a worksharing construct, before it is published: counts of iterations by
// dimension, the outermost first. Ends the program when there is no memory.
Doacross *doacross_new(uint32_t dimensions, const uint64_t *counts);
void doacross_free(Doacross *doacross);
uint32_t doacross_dimensions(const Doacross &doacross);

// Says that the iteration with these numbers (from 0, by dimension) is done.
void doacross_post(Member &me, Doacross &doacross, const uint64_t *iteration);
// Waits until it is. What is outside of the nest has been done always.
void doacross_wait(Member &me, Doacross &doacross, const uint64_t *iteration);

} // namespace hadal::omp

#endif
