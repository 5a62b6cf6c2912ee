/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from abi/hrt/src/trace.rs, which is the place for changes. */
/* clang-format off */

#ifndef HADAL_HRT_LAYOUT_TRACE_H
#define HADAL_HRT_LAYOUT_TRACE_H

#include "../base.h"

// Longest text of a mark.
#define HRT_TRACE_TEXT_BYTES 16

#endif  /* HADAL_HRT_LAYOUT_TRACE_H */
