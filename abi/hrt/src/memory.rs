// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flags of allocations.

/// Zeroed; otherwise the content is whatever was there.
pub const ALLOC_ZERO: u32 = 1_u32;
/// This zone or nothing: no fall-back to others.
pub const ALLOC_STRICT: u32 = 2_u32;
/// Zone by zone in turn, from one call to the next; `zone` is ignored.
pub const ALLOC_INTERLEAVE: u32 = 4_u32;
/// At least one whole 2 MiB page.
pub const ALLOC_HUGE: u32 = 8_u32;
