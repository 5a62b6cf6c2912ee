// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A NUMA zone: the free lists of its memory behind one lock, and counters that are read without it.

use core::sync::atomic::{AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_hal::sync::{Rank, SpinLock};

use crate::buddy::{Arena, Arenas, FreeLists, Use};

/// The memory of one zone.
pub(crate) struct Zone {
    lists: SpinLock<FreeLists>,
    total_frames: AtomicUsize,
    free_frames: AtomicUsize,
    /// Frames that are out, and yet free memory: those that idle CPUs fill.
    prezeroed_frames: AtomicUsize,
    most_used_frames: AtomicUsize,
}

impl Zone {
    pub(crate) const fn new() -> Self {
        Self {
            lists: SpinLock::ranked(Rank::Zone, FreeLists::new()),
            total_frames: AtomicUsize::new(0),
            free_frames: AtomicUsize::new(0),
            prezeroed_frames: AtomicUsize::new(0),
            most_used_frames: AtomicUsize::new(0),
        }
    }

    /// Adds the frames of an arena.
    pub(crate) fn seed(&self, arenas: &Arenas, arena: &Arena) {
        let mut lists = self.lists.lock();
        lists.seed(arenas, arena);
        self.total_frames.fetch_add(arena.count(), Ordering::Relaxed);
        self.publish(&lists);
    }

    /// Takes one block.
    pub(crate) fn take(&self, arenas: &Arenas, order: u8, new_use: fn(u8) -> Use) -> Option<u32> {
        let mut lists = self.lists.lock();
        let frame = lists.take(arenas, order, new_use);
        self.publish(&lists);
        frame
    }

    /// Moves up to `count` single frames to `cache` at once.
    pub(crate) fn take_singles<const N: usize>(
        &self,
        arenas: &Arenas,
        count: usize,
        cache: &mut ArrayVec<u32, N>,
    ) {
        let mut lists = self.lists.lock();
        while cache.len() < count
            && let Some(frame) = lists.take(arenas, 0, Use::Cached)
        {
            cache.push(frame);
        }
        self.publish(&lists);
    }

    /// Takes blocks back that the caller has claimed; all are in this zone.
    pub(crate) fn give(&self, arenas: &Arenas, frames: impl Iterator<Item = u32>, order: u8) {
        let mut lists = self.lists.lock();
        for frame in frames {
            let arena = arenas.find(frame).expect("claimed frames are in an arena");
            lists.give(arenas, arena, frame, order);
        }
        self.publish(&lists);
    }

    fn publish(&self, lists: &FreeLists) {
        let free = lists.free_frames();
        self.free_frames.store(free, Ordering::Relaxed);
        // The lock is held, so nobody else writes it.
        let used = self.used_frames();
        if used > self.most_used_frames.load(Ordering::Relaxed) {
            self.most_used_frames.store(used, Ordering::Relaxed);
        }
    }

    /// So many frames that are taken next count as free.
    pub(crate) fn add_prezeroed(&self, frames: usize) {
        self.prezeroed_frames.fetch_add(frames, Ordering::Relaxed);
    }

    /// So many of these are used now, or given back.
    pub(crate) fn sub_prezeroed(&self, frames: usize) {
        let lists = self.lists.lock();
        self.prezeroed_frames.fetch_sub(frames, Ordering::Relaxed);
        self.publish(&lists);
    }

    pub(crate) fn prezeroed_frames(&self) -> usize {
        self.prezeroed_frames.load(Ordering::Relaxed)
    }

    /// Frames in use, those in per-CPU caches included.
    pub(crate) fn used_frames(&self) -> usize {
        self.total_frames().saturating_sub(self.free_frames() + self.prezeroed_frames())
    }

    /// Free blocks of 2 MiB, those in larger ones included.
    pub(crate) fn free_large_pages(&self) -> u64 {
        self.lists.lock().free_large_pages()
    }

    pub(crate) fn total_frames(&self) -> usize {
        self.total_frames.load(Ordering::Relaxed)
    }

    pub(crate) fn free_frames(&self) -> usize {
        self.free_frames.load(Ordering::Relaxed)
    }

    /// Most frames that were out at the same time, those in per-CPU caches included.
    pub(crate) fn most_used_frames(&self) -> usize {
        self.most_used_frames.load(Ordering::Relaxed)
    }
}
