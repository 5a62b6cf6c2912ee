// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The frames that one CPU keeps at hand, so that most allocations take no shared lock.
//!
//! Only frames of the CPU's own zone are cached. Single frames come and go in batches; of 2 MiB blocks a few that were freed
//! are kept, none is fetched ahead. These are the cache's own: their claims in the ledger stay, so taking one out and putting
//! it back claims and releases nothing. The cache's lock is contended only when memory is out and every cache is drained.

use arrayvec::{ArrayVec, CapacityError};
use hadal_hal::memory::frames::Block;

use super::setup::Layout;
use super::{Class, FrameAllocator, ZoneId, ZonePolicy, bad_frame};
use crate::buddy::Use;

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

impl FrameAllocator {
    /// Takes a single frame from this CPU's cache, refilling it if `zone` is the CPU's own.
    #[inline(always)]
    pub(super) fn take_cached(&self, layout: &Layout, order: u8, zone: ZoneId, class: Class) -> Option<u32> {
        if order != 0 {
            return None;
        }
        let mut cache = self.caches.get()?.this().lock();
        if cache.zone != zone {
            return None;
        }
        if cache.small.is_empty() {
            self.refill(layout, &mut cache, class);
        }
        let frame = cache.small.pop()?;
        layout.arenas.find(frame)?.set_use(frame, Use::Allocated(order));
        Some(frame)
    }

    /// Takes a block of 2 MiB from this CPU's cache if its zone is one that the policy begins with.
    #[inline]
    pub(super) fn take_large(&self, policy: ZonePolicy) -> Option<Block> {
        let mut cache = self.caches.get()?.this().lock();
        match policy {
            ZonePolicy::Prefer(zone) | ZonePolicy::Only(zone) if zone != cache.zone => None,
            ZonePolicy::Interleave => None,
            _ => cache.large.pop(),
        }
    }

    /// Puts a block of 2 MiB into this CPU's cache, or gives it back to its zone.
    pub(super) fn put_large(&self, block: Block) {
        let (layout, arena, frame) = self.locate(block.phys(), LARGE_ORDER);
        let found = arena.use_of(frame);
        if found != Use::Allocated(LARGE_ORDER) {
            bad_frame("free", block.phys(), LARGE_ORDER, found);
        }
        let refused = match self.caches.get() {
            Some(caches) => caches.this().lock().put_large(arena.zone(), block),
            None => Some(block),
        };
        if let Some(block) = refused {
            block.release();
            self.zones[arena.zone()].give(&layout.arenas, [frame].into_iter(), LARGE_ORDER);
        }
    }

    #[inline(never)]
    fn refill(&self, layout: &Layout, cache: &mut CpuCache, class: Class) {
        if self.permits(5, class) {
            self.zones[cache.zone.index()].take_singles(&layout.arenas, SMALL_BATCH, &mut cache.small);
        }
    }

    /// Gives the frames in all per-CPU caches, and pre-zeroed pages, back to their zones, where they can merge.
    pub(super) fn drain_caches(&self) {
        for zone in 0..self.zone_count() {
            self.prezeroed.drain(ZoneId(zone as u8)).for_each(|block| self.free_prezeroed(zone, block));
        }
        let (Some(layout), Some(caches)) = (self.layout.get(), self.caches.get()) else { return };
        for cache in caches.iter() {
            let mut cache = cache.lock();
            let zone = &self.zones[cache.zone.index()];
            zone.give(&layout.arenas, cache.small.drain(..), 0);
            let large = cache.large.drain(..).filter_map(|block| layout.arenas.frame(block.release()));
            zone.give(&layout.arenas, large, LARGE_ORDER);
        }
    }
}
