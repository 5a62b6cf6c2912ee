// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of 2 MiB that CPUs without work fill with zeros before anybody asks for them.
//!
//! Each zone has a few. An idle CPU takes a free page, fills it piece by piece, with a look for other work between two, and
//! puts it on the list of its zone; what it has begun the next one goes on with. The first touch of a block of 2 MiB takes a
//! page from there as it is. Such pages are free memory: they count as that, and go back to their zones when memory is short.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_hal::cpu;
use hadal_hal::memory::fallible;
use hadal_hal::memory::frames::Block;
use hadal_hal::sync::{Rank, SpinLock};
use spin::Once;

use super::cache::LARGE_ORDER;
use super::{Class, Frame, FrameAllocator, MAX_ZONES, ZoneId};
use crate::buddy::FRAME_BYTES;

/// Most pages of a zone.
const MOST: usize = 8;
/// Part of a zone's memory that they may be: one in so many bytes.
const SHARE: usize = 16;
/// Bytes that are filled between two looks for other work: about as long as an interrupt takes.
const PIECE_BYTES: usize = 4096;
const PAGE_FRAMES: usize = 1 << LARGE_ORDER;
const PAGE_BYTES: usize = PAGE_FRAMES * FRAME_BYTES as usize;

/// The pages of all zones.
pub(super) struct Ahead {
    zones: [List; MAX_ZONES],
    /// Wakes an idle CPU.
    waker: Once<fn()>,
    filled: AtomicU64,
    used: AtomicU64,
}

/// Those of one zone.
struct List {
    pages: SpinLock<Pages>,
    /// How many are filled: readable without the lock.
    count: AtomicUsize,
    /// CPUs that fill pages now.
    fillers: AtomicUsize,
}

struct Pages {
    filled: ArrayVec<Block, MOST>,
    /// One that is filled up to here.
    begun: Option<(Block, usize)>,
}

/// Pages of 2 MiB since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AheadStats {
    /// Filled by idle CPUs.
    pub filled: u64,
    /// Taken by page faults.
    pub used: u64,
}

impl Ahead {
    pub(super) const fn new() -> Self {
        Self {
            zones: [const { List::new() }; MAX_ZONES],
            waker: Once::new(),
            filled: AtomicU64::new(0),
            used: AtomicU64::new(0),
        }
    }

    /// All pages of a zone.
    pub(super) fn drain(&self, zone: ZoneId) -> impl Iterator<Item = Block> {
        let list = &self.zones[zone.index()];
        let mut pages = list.pages.lock();
        list.count.store(0, Ordering::Relaxed);
        let begun = pages.begun.take().map(|(block, _)| block);
        core::mem::take(&mut pages.filled).into_iter().chain(begun)
    }
}

impl List {
    const fn new() -> Self {
        let pages = Pages { filled: ArrayVec::new_const(), begun: None };
        Self {
            pages: SpinLock::ranked(Rank::FrameCache, pages),
            count: AtomicUsize::new(0),
            fillers: AtomicUsize::new(0),
        }
    }

    fn take(&self) -> Option<Block> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut pages = self.pages.lock();
        let block = pages.filled.pop();
        self.count.store(pages.filled.len(), Ordering::Relaxed);
        block
    }

    /// Puts a page on the list that is filled up to somewhere; returns one that has no place there.
    fn put(&self, block: Block, filled_bytes: usize) -> Option<Block> {
        let mut pages = self.pages.lock();
        if filled_bytes == PAGE_BYTES {
            let refused = pages.filled.try_push(block).err();
            self.count.store(pages.filled.len(), Ordering::Relaxed);
            return refused.map(|refused| refused.element());
        }
        pages.begun.replace((block, filled_bytes)).map(|(block, _)| block)
    }
}

impl FrameAllocator {
    /// A page of 2 MiB of zeros for a program, from the zone of the calling CPU, if there is one that an idle CPU has filled.
    pub fn alloc_filled_ahead(&'static self) -> Option<Frame> {
        let zone = self.cpu_zone(cpu::current_id()).index();
        let list = &self.ahead.zones[zone];
        if fallible::is_failure_injected() {
            return None;
        }
        let block = list.take()?;
        self.zones[zone].use_aside(PAGE_FRAMES);
        self.ahead.used.fetch_add(1, Ordering::Relaxed);
        if list.count.load(Ordering::Relaxed) <= MOST / 2
            && list.fillers.load(Ordering::Relaxed) == 0
            && let Some(wake) = self.ahead.waker.get()
        {
            wake();
        }
        Some(Frame::new(self, block))
    }

    /// Fills pages for later, until there are enough or `stop` says that there is something else to do. For idle CPUs.
    pub fn fill_ahead(&self, stop: &dyn Fn() -> bool) {
        let zone = self.cpu_zone(cpu::current_id());
        let list = &self.ahead.zones[zone.index()];
        list.fillers.fetch_add(1, Ordering::Relaxed);
        while !stop()
            && let Some((block, begun_at)) = self.page_to_fill(zone, list)
        {
            let mut at = begun_at;
            while at < PAGE_BYTES && !stop() {
                block.zero(at, PIECE_BYTES);
                at += PIECE_BYTES;
            }
            if at == PAGE_BYTES {
                self.ahead.filled.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(block) = list.put(block, at) {
                self.give_back_ahead(zone.index(), block);
            }
        }
        list.fillers.fetch_sub(1, Ordering::Relaxed);
    }

    /// What has been begun, or a new page as long as there is much free memory.
    fn page_to_fill(&self, zone: ZoneId, list: &List) -> Option<(Block, usize)> {
        let counters = &self.zones[zone.index()];
        let total_frames = counters.total_frames();
        let most = MOST.min((total_frames >> LARGE_ORDER) / SHARE);
        if list.count.load(Ordering::Relaxed) >= most || counters.free_frames() < total_frames / 2 {
            return None;
        }
        let begun = list.pages.lock().begun.take();
        begun.or_else(|| {
            counters.set_aside(PAGE_FRAMES);
            let block = self.claim_from(zone, LARGE_ORDER, Class::Program);
            if block.is_none() {
                counters.use_aside(PAGE_FRAMES);
            }
            Some((block?, 0))
        })
    }

    /// Frees a page of a zone that nobody has used.
    pub(super) fn give_back_ahead(&self, zone: usize, block: Block) {
        self.free(block);
        self.zones[zone].use_aside(PAGE_FRAMES);
    }

    /// Names who wakes an idle CPU when pages are getting few; the first call wins.
    pub fn wake_to_fill(&self, wake: fn()) {
        self.ahead.waker.call_once(|| wake);
    }

    /// Counters.
    pub fn ahead_stats(&self) -> AheadStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        AheadStats { filled: load(&self.ahead.filled), used: load(&self.ahead.used) }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::super::ZonePolicy;
    use super::super::tests::allocator;
    use super::*;

    #[test]
    fn pages_are_filled_in_pieces_and_are_free_memory() {
        let memory = allocator(&[72]);
        let free = memory.stats().free_bytes;
        assert!(memory.alloc_filled_ahead().is_none());
        // An idle CPU that is called away after each piece gets there too.
        for _ in 0..PAGE_BYTES / PIECE_BYTES {
            let looks = Cell::new(0);
            memory.fill_ahead(&|| looks.replace(looks.get() + 1) > 1);
            assert_eq!(memory.stats().free_bytes, free);
        }
        assert_eq!(memory.ahead_stats(), AheadStats { filled: 1, used: 0 });
        memory.fill_ahead(&|| false);
        // A sixteenth of the memory.
        assert_eq!(memory.ahead_stats().filled, 2);
        assert_eq!(memory.stats().free_bytes, free);
        let page = memory.alloc_filled_ahead().expect("there are two");
        let mut bytes = [1; 4096];
        for at in (0..PAGE_BYTES).step_by(bytes.len()) {
            page.read(at, &mut bytes);
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
        assert_eq!(memory.stats().free_bytes, free - PAGE_BYTES as u64);
        assert_eq!(memory.ahead_stats().used, 1);
        drop(page);
        assert_eq!(memory.stats().free_bytes, free);
    }

    #[test]
    fn programs_can_have_all_of_it() {
        let memory = allocator(&[40]);
        let all = || {
            let mut pages = alloc::vec::Vec::new();
            while let Some(page) = memory.alloc_program(LARGE_ORDER, ZonePolicy::Local) {
                pages.push(page);
            }
            pages.len()
        };
        let most = all();
        memory.fill_ahead(&|| false);
        assert_eq!(memory.ahead_stats().filled, 1);
        assert_eq!(all(), most);
        // With little free memory nothing is filled.
        let take = |_| memory.alloc_program(LARGE_ORDER, ZonePolicy::Local);
        let held: alloc::vec::Vec<_> = (0..=most / 2).map_while(take).collect();
        memory.fill_ahead(&|| false);
        assert_eq!(memory.ahead_stats().filled, 1);
        drop(held);
    }
}
