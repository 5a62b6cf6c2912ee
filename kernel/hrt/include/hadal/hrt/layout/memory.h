/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/memory.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_MEMORY_H
#define HADAL_HRT_LAYOUT_MEMORY_H

#include "../base.h"

// Zeroed; otherwise the content is whatever was there.
#define HRT_ALLOC_ZERO 1u

// This zone or nothing: no fall-back to others.
#define HRT_ALLOC_STRICT 2u

// Zone by zone in turn, from one call to the next; `zone` is ignored.
#define HRT_ALLOC_INTERLEAVE 4u

// At least one whole 2 MiB page.
#define HRT_ALLOC_HUGE 8u

#endif  /* HADAL_HRT_LAYOUT_MEMORY_H */
