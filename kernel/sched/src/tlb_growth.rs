// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making an emulated processor's TLB as large as the memory in use.
//!
//! QEMU's translator keeps a table of translations for each CPU, one for each 4 KiB, at a place that the address says. It looks
//! whether the table is too small only when the CPU flushes it (`tlb_mmu_resize_locked` in QEMU's `accel/tcg/cputlb.c`), and
//! makes it twice as large if more than 70% were in use. A program that computes without a fault never flushes, and one whose
//! arrays want the same places never uses that many: each of its accesses costs a walk of the page tables. So a CPU that runs
//! threads there reads from as many pages as the table has places, flushes, and does that again until there is a place for
//! each page in use. It looks for that soon after it has begun, then rarely, and begins anew when there have been other flushes,
//! since those make a table small of which little was used for 0.1 s. On other processors none of this happens.

use hadal_hal::memory::layout::PAGE_SIZE;
use hadal_hal::memory::tlb;
use hadal_hal::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use spin::Once;

/// Time from the first look to the second; each further one comes after twice the time of the one before.
const FIRST_NS: u64 = 1_000_000;
/// The longest time between two looks.
const LONGEST_NS: u64 = 512_000_000;
/// The shortest time from one growth of the table to the next, for each place: 0.5 s for 4,096.
const REST_NS: u64 = 128_000;

/// Places of the smallest table, and of the largest that is asked for: QEMU clears the table with each flush.
const SMALLEST: usize = 256;
const LARGEST: usize = 32_768;
/// Pages read in one interrupt, and the shortest time to the next.
const STEP_PAGES: usize = 2048;
const STEP_NS: u64 = 1_000_000;

static MEMORY_IN_USE: Once<fn() -> u64> = Once::new();

/// What a CPU knows of its table. Only that CPU uses it, with interrupts off.
pub(crate) struct TlbGrowth {
    /// When it looks next.
    at_ns: AtomicU64,
    /// Time from one look to the next.
    period_ns: AtomicU64,
    /// When the table has last grown, and the flushes of this CPU until then.
    grown_at_ns: AtomicU64,
    flushes: AtomicU64,
    /// Places that the table should have by now.
    places: AtomicUsize,
    /// Pages read since the last flush.
    read: AtomicUsize,
}

impl TlbGrowth {
    pub(crate) fn new() -> Self {
        Self {
            at_ns: AtomicU64::new(0),
            period_ns: AtomicU64::new(FIRST_NS),
            grown_at_ns: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
            places: AtomicUsize::new(SMALLEST),
            read: AtomicUsize::new(0),
        }
    }

    /// In an interrupt: goes on if that is due. Whether it has flushed.
    pub(crate) fn look(&self, now_ns: u64) -> bool {
        if now_ns < self.at_ns.load(Ordering::Relaxed) {
            return false;
        }
        let grows = self.places.load(Ordering::Relaxed) < places_wanted();
        let has_flushed = grows && self.step(now_ns);
        let wait_ns = if grows { STEP_NS } else { self.rest_ns(now_ns) };
        self.at_ns.store(now_ns + wait_ns, Ordering::Relaxed);
        has_flushed
    }

    /// Reads some more pages, and flushes when the table is full; whether it did.
    fn step(&self, now_ns: u64) -> bool {
        let (places, read) = (self.places.load(Ordering::Relaxed), self.read.load(Ordering::Relaxed));
        let pages = (places - read).min(STEP_PAGES);
        tlb::fill(read, pages);
        let is_full = read + pages == places;
        self.read.store(if is_full { 0 } else { read + pages }, Ordering::Relaxed);
        if is_full {
            tlb::flush_local();
            self.places.store(2 * places, Ordering::Relaxed);
            self.grown_at_ns.store(now_ns, Ordering::Relaxed);
            self.flushes.store(tlb::local_flushes(), Ordering::Relaxed);
        }
        is_full
    }

    /// Time to the next look, when there is nothing to do.
    fn rest_ns(&self, now_ns: u64) -> u64 {
        // What was read is of a table that need not grow any more.
        self.read.store(0, Ordering::Relaxed);
        let rested_ns = now_ns.saturating_sub(self.grown_at_ns.load(Ordering::Relaxed));
        let places = self.places.load(Ordering::Relaxed);
        if rested_ns >= places as u64 * REST_NS
            && self.flushes.load(Ordering::Relaxed) != tlb::local_flushes()
        {
            self.places.store(SMALLEST, Ordering::Relaxed);
            return STEP_NS;
        }
        let period_ns = (self.period_ns.load(Ordering::Relaxed) * 2).min(LONGEST_NS);
        self.period_ns.store(period_ns, Ordering::Relaxed);
        period_ns
    }
}

/// Places for all pages in use, as far as there are tables so large and memory to fill them with.
fn places_wanted() -> usize {
    let pages = MEMORY_IN_USE.get().map_or(0, |in_use| in_use() / PAGE_SIZE as u64);
    let most = LARGEST.min(2 * tlb::fill_pages().max(SMALLEST));
    usize::try_from(pages).unwrap_or(most).min(most).next_power_of_two()
}

/// How to ask for the bytes of memory in use, in interrupt context.
pub(crate) fn set_memory_in_use(memory_in_use: fn() -> u64) {
    MEMORY_IN_USE.call_once(|| memory_in_use);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_filled_in_steps_and_grows_when_it_is_full() {
        let growth = TlbGrowth::new();
        let mut steps = [0; 6];
        for (round, steps) in steps.iter_mut().enumerate() {
            assert_eq!(growth.places.load(Ordering::Relaxed), SMALLEST << round);
            *steps = (1..).find(|_| growth.step(7)).expect("it is full at last");
        }
        assert_eq!(steps, [1, 1, 1, 1, 2, 4]);
        // It begins anew if others have flushed, and enough time has passed.
        let places = growth.places.load(Ordering::Relaxed);
        let later_ns = places as u64 * REST_NS + 7;
        assert_eq!(growth.rest_ns(later_ns), 2 * FIRST_NS);
        tlb::flush_local();
        assert_eq!(
            (growth.rest_ns(later_ns - 1), growth.places.load(Ordering::Relaxed)),
            (4 * FIRST_NS, places)
        );
        assert_eq!((growth.rest_ns(later_ns), growth.places.load(Ordering::Relaxed)), (STEP_NS, SMALLEST));
    }

    /// Memory that is given back while a table is being filled ends that, and the next table is filled from the start.
    #[test]
    fn filling_that_was_broken_off_leaves_nothing_behind() {
        let growth = TlbGrowth::new();
        while growth.places.load(Ordering::Relaxed) <= STEP_PAGES {
            growth.step(7);
        }
        assert!(!growth.step(7), "the table takes more than a step");
        tlb::flush_local();
        assert_eq!(growth.rest_ns(u64::MAX), STEP_NS);
        assert!(growth.step(7), "the smallest table takes one step");
        assert_eq!(growth.places.load(Ordering::Relaxed), 2 * SMALLEST);
    }
}
