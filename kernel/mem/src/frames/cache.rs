// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frames that one CPU keeps at hand, so that most allocations take no shared lock.
//!
//! Only frames of the CPU's own zone are cached. Single frames come and go in batches; of 2 MiB blocks a few that were freed
//! are kept, none is fetched ahead. These are the cache's own: their claims in the ledger stay, so taking one out and putting
//! it back claims and releases nothing. The cache's lock is contended only when memory is out and every cache is drained.

use arrayvec::{ArrayVec, CapacityError};
use hadal_hal::memory::frames::Block;

use super::ZoneId;

/// Order of a 2 MiB block.
pub(super) const LARGE_ORDER: u8 = 9;
/// Single frames that move between cache and zone at a time.
pub(super) const SMALL_BATCH: usize = 32;
/// Most single frames in a cache.
pub(super) const SMALL_LIMIT: usize = 2 * SMALL_BATCH;
/// Most 2 MiB blocks in a cache: 16 MiB, as much as an address space frees at a time.
const LARGE_LIMIT: usize = 8;

/// The cache of one CPU; the last frame freed is the first one used again.
pub(super) struct CpuCache {
    pub(super) zone: ZoneId,
    pub(super) small: ArrayVec<u32, SMALL_LIMIT>,
    pub(super) large: ArrayVec<Block, LARGE_LIMIT>,
}

impl CpuCache {
    pub(super) const fn new(zone: ZoneId) -> Self {
        Self { zone, small: ArrayVec::new_const(), large: ArrayVec::new_const() }
    }

    /// Keeps a block of 2 MiB, or returns one of another zone or without room.
    pub(super) fn put_large(&mut self, zone: usize, block: Block) -> Option<Block> {
        if self.zone.index() != zone {
            return Some(block);
        }
        self.large.try_push(block).err().map(CapacityError::element)
    }

    /// Number of frames in the cache.
    pub(super) fn frames(&self) -> usize {
        self.small.len() + (self.large.len() << LARGE_ORDER)
    }
}
