/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The part of fork_join.c that is in C++. */
#ifndef HADAL_BENCH_FORK_JOIN_H
#define HADAL_BENCH_FORK_JOIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sets each element to three times its place, by a thread of its own. */
void fork_join_multiply(int32_t *elements, size_t count);

#ifdef __cplusplus
}
#endif

#endif
