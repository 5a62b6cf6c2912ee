// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of 2 MiB that CPUs without work fill with zeros before anybody asks for them.
//!
//! Each zone has a few, once somebody has asked: many programs never do. An idle CPU takes a free page, fills it piece by
//! piece, with a look for other work between two, and puts it on the list of its zone; what it has begun the next one goes on
//! with. The first touch of a block of 2 MiB takes a page from there as it is. Such pages are free memory: they count as
//! that, and go back to their zones when memory is short.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

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
pub(super) struct Prezeroed {
    zones: [List; MAX_ZONES],
    /// Wakes an idle CPU.
    waker: Once<fn()>,
    zeroed: AtomicU64,
    used: AtomicU64,
}

/// Those of one zone.
struct List {
    pages: SpinLock<Pages>,
    /// How many are filled: readable without the lock.
    count: AtomicUsize,
    /// A CPU fills pages now: one is enough, and others would take more pages than there is room for.
    has_filler: AtomicBool,
    /// A CPU has been woken to do so.
    is_called: AtomicBool,
    /// Somebody has asked for a page.
    is_wanted: AtomicBool,
}

struct Pages {
    filled: ArrayVec<Block, MOST>,
    /// One that is filled up to here.
    begun: Option<(Block, usize)>,
}

/// Pages of 2 MiB since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrezeroStats {
    /// Filled by idle CPUs.
    pub zeroed: u64,
    /// Taken by page faults.
    pub used: u64,
}

impl Prezeroed {
    pub(super) const fn new() -> Self {
        Self {
            zones: [const { List::new() }; MAX_ZONES],
            waker: Once::new(),
            zeroed: AtomicU64::new(0),
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
            has_filler: AtomicBool::new(false),
            is_called: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
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
    /// When pages get few an idle CPU is woken to fill more. Where there is none to wake, nobody fills pages.
    #[inline]
    pub fn alloc_prezeroed(&'static self) -> Option<Frame> {
        let wake = self.prezeroed.waker.get()?;
        self.take_prezeroed(*wake)
    }

    #[inline(never)]
    fn take_prezeroed(&'static self, wake: fn()) -> Option<Frame> {
        let zone = self.cpu_zone(cpu::current_id());
        let list = &self.prezeroed.zones[zone.index()];
        if fallible::is_failure_injected() {
            return None;
        }
        if !list.is_wanted.load(Ordering::Relaxed) {
            list.is_wanted.store(true, Ordering::Relaxed);
        }
        let block = list.take();
        if list.count.load(Ordering::Relaxed) <= MOST / 2
            && !list.has_filler.load(Ordering::Relaxed)
            && !list.is_called.load(Ordering::Relaxed)
            && self.wants_more(zone, list)
        {
            list.is_called.store(true, Ordering::Relaxed);
            wake();
        }
        let block = block?;
        self.zones[zone.index()].sub_prezeroed(PAGE_FRAMES);
        self.prezeroed.used.fetch_add(1, Ordering::Relaxed);
        Some(Frame::new(self, block))
    }

    /// Fills pages for later, until there are enough or `stop` says that there is something else to do. For idle CPUs, of which
    /// one of each zone does it at a time.
    pub fn prezero(&self, stop: &dyn Fn() -> bool) {
        let zone = self.cpu_zone(cpu::current_id());
        let list = &self.prezeroed.zones[zone.index()];
        if !list.is_wanted.load(Ordering::Relaxed) || list.has_filler.swap(true, Ordering::Acquire) {
            return;
        }
        // A call that came before this is answered; whoever was woken may have found other work.
        list.is_called.store(false, Ordering::Relaxed);
        while !stop()
            && let Some((block, begun_at)) = self.page_to_fill(zone, list)
        {
            let mut at = begun_at;
            while at < PAGE_BYTES && !stop() {
                block.zero(at, PIECE_BYTES);
                at += PIECE_BYTES;
            }
            if at == PAGE_BYTES {
                self.prezeroed.zeroed.fetch_add(1, Ordering::Relaxed);
            }
            if let Some(block) = list.put(block, at) {
                self.free_prezeroed(zone.index(), block);
            }
        }
        list.has_filler.store(false, Ordering::Release);
    }

    /// Whether there is room for another page, and much free memory.
    fn wants_more(&self, zone: ZoneId, list: &List) -> bool {
        let counters = &self.zones[zone.index()];
        let total_frames = counters.total_frames();
        let most = MOST.min((total_frames >> LARGE_ORDER) / SHARE);
        list.count.load(Ordering::Relaxed) < most && counters.free_frames() >= total_frames / 2
    }

    /// What has been begun, or a new page as long as there is much free memory.
    fn page_to_fill(&self, zone: ZoneId, list: &List) -> Option<(Block, usize)> {
        if !self.wants_more(zone, list) {
            return None;
        }
        let counters = &self.zones[zone.index()];
        let begun = list.pages.lock().begun.take();
        begun.or_else(|| {
            counters.add_prezeroed(PAGE_FRAMES);
            let block = self.claim_from(zone, LARGE_ORDER, Class::Program);
            if block.is_none() {
                counters.sub_prezeroed(PAGE_FRAMES);
            }
            Some((block?, 0))
        })
    }

    /// Frees a page of a zone that nobody has used.
    pub(super) fn free_prezeroed(&self, zone: usize, block: Block) {
        self.free(block);
        self.zones[zone].sub_prezeroed(PAGE_FRAMES);
    }

    /// From now on there are CPUs that fill pages when they are idle, and this wakes one; the first call wins.
    pub fn wake_to_prezero(&self, wake: fn()) {
        self.prezeroed.waker.call_once(|| wake);
    }

    /// Counters.
    pub fn prezero_stats(&self) -> PrezeroStats {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PrezeroStats { zeroed: load(&self.prezeroed.zeroed), used: load(&self.prezeroed.used) }
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
        assert!(memory.alloc_prezeroed().is_none());
        memory.prezero(&|| panic!("nobody has asked who could be answered"));
        static CALLS: AtomicUsize = AtomicUsize::new(0);
        memory.wake_to_prezero(|| {
            CALLS.fetch_add(1, Ordering::Relaxed);
        });
        memory.prezero(&|| panic!("nobody has asked"));
        assert!(memory.alloc_prezeroed().is_none());
        assert_eq!(CALLS.load(Ordering::Relaxed), 1);
        // An idle CPU that is called away after each piece gets there too.
        for _ in 0..PAGE_BYTES / PIECE_BYTES {
            let looks = Cell::new(0);
            memory.prezero(&|| looks.replace(looks.get() + 1) > 1);
            assert_eq!(memory.stats().free_bytes, free);
        }
        assert_eq!(memory.prezero_stats(), PrezeroStats { zeroed: 1, used: 0 });
        memory.prezero(&|| false);
        // A sixteenth of the memory.
        assert_eq!(memory.prezero_stats().zeroed, 2);
        assert_eq!(memory.stats().free_bytes, free);
        let page = memory.alloc_prezeroed().expect("there are two");
        let mut bytes = [1; 4096];
        for at in (0..PAGE_BYTES).step_by(bytes.len()) {
            page.read(at, &mut bytes);
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
        assert_eq!(memory.stats().free_bytes, free - PAGE_BYTES as u64);
        assert_eq!(memory.prezero_stats().used, 1);
        drop(page);
        assert_eq!(memory.stats().free_bytes, free);
        // Who finds none calls for more, once; while a CPU fills pages there is no need.
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        drop(memory.alloc_prezeroed());
        assert!(memory.alloc_prezeroed().is_none());
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        memory.prezero(&|| {
            memory.prezero(&|| panic!("one CPU at a time"));
            drop(memory.alloc_prezeroed());
            true
        });
        assert_eq!(CALLS.load(Ordering::Relaxed), 2);
        assert!(memory.alloc_prezeroed().is_none());
        assert_eq!(CALLS.load(Ordering::Relaxed), 3);
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
        memory.wake_to_prezero(|| {});
        assert!(memory.alloc_prezeroed().is_none());
        memory.prezero(&|| false);
        assert_eq!(memory.prezero_stats().zeroed, 1);
        assert_eq!(all(), most);
        // With little free memory nothing is filled.
        let take = |_| memory.alloc_program(LARGE_ORDER, ZonePolicy::Local);
        let held: alloc::vec::Vec<_> = (0..=most / 2).map_while(take).collect();
        memory.prezero(&|| false);
        assert_eq!(memory.prezero_stats().zeroed, 1);
        drop(held);
    }
}
