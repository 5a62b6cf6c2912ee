// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One bit for each frame: whether it has an owner. And one word for what the owner has to know of it.
//!
//! Every frame begins with an owner, the machine; [`init`] gives up what the boot loader calls free. A claim sets the bits of
//! a run that are all clear, with one locked instruction for each word of them. The other words ([`users`]) need no initial
//! value: whoever becomes the owner of a single frame stores 0 there.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::memory::layout::PAGE_SIZE;

/// A run of frames.
#[derive(Clone, Copy)]
pub(crate) struct Ledger {
    /// Number of the first frame.
    first: u64,
    /// A bit for each.
    owned: &'static [AtomicU64],
    /// A word for each: of the first frames, and of the rest, which the boot tables do not map.
    users: [&'static [AtomicU64]; 2],
}

impl Ledger {
    /// The words of a run of frames and the bits of it in each, if it is in the ledger.
    fn words(
        &self,
        first: u64,
        count: usize,
    ) -> Option<impl Iterator<Item = (&'static AtomicU64, u64)> + use<>> {
        let first = usize::try_from(first.checked_sub(self.first)?).ok()?;
        let end = first.checked_add(count).filter(|&end| end <= self.users[0].len() + self.users[1].len())?;
        let owned = self.owned;
        let mut at = first;
        Some(core::iter::from_fn(move || {
            let left = end.checked_sub(at).filter(|&left| left > 0)?;
            let (word, bit) = (at / 64, at % 64);
            let bits = left.min(64 - bit);
            at += bits;
            Some((&owned[word], u64::MAX >> (64 - bits) << bit))
        }))
    }

    /// The word and the bit of a frame. The bits behind the last one are set for good.
    #[inline(always)]
    fn bit(&self, frame: u64) -> Option<(&'static AtomicU64, u64)> {
        let index = frame.wrapping_sub(self.first);
        let word = self.owned.get((index / 64) as usize)?;
        Some((word, 1 << (index % 64)))
    }

    /// The words of a run, if it is all of them: of a large page, for one.
    fn whole_words(&self, first: u64, count: usize) -> Option<&'static [AtomicU64]> {
        let first = usize::try_from(first.checked_sub(self.first)?).ok()?;
        if !first.is_multiple_of(64) || !count.is_multiple_of(64) {
            return None;
        }
        // The bits behind the last frame are set for good.
        self.owned.get(first / 64..first.checked_add(count)? / 64)
    }

    fn claim(&self, first: u64, count: usize) -> bool {
        if let Some(words) = self.whole_words(first, count) {
            return claim_words(words);
        }
        let Some(words) = self.words(first, count) else { return false };
        let mut done = 0;
        for (word, bits) in words {
            let before = word.fetch_or(bits, Ordering::Acquire);
            if before & bits != 0 {
                word.fetch_and(before | !bits, Ordering::Release);
                self.release(first, done);
                return false;
            }
            done += bits.count_ones() as usize;
        }
        true
    }

    fn release(&self, first: u64, count: usize) {
        if let Some(words) = self.whole_words(first, count) {
            release_words(words);
            return;
        }
        for (word, bits) in self.words(first, count).into_iter().flatten() {
            word.fetch_and(!bits, Ordering::Release);
        }
    }

    /// Leaves the frames from one to another to the machine, before any is claimed. Most are in a few large holes, so nearly
    /// all words are written whole.
    #[cfg(any(target_os = "none", test))]
    fn withhold(&self, start: u64, end: u64) {
        let (whole_start, whole_end) = (start.next_multiple_of(64).min(end), end & !63);
        let whole_count = whole_end.saturating_sub(whole_start);
        let words = self.whole_words(whole_start, whole_count as usize).unwrap_or_default();
        // Several at a time: a hole of 2 GiB is 8,192 words.
        let (chunks, rest) = words.as_chunks::<8>();
        let set = |word: &AtomicU64| word.store(u64::MAX, Ordering::Relaxed);
        chunks.iter().for_each(|chunk| chunk.iter().for_each(set));
        rest.iter().for_each(set);
        for part in [start..whole_start, whole_start + whole_count..end] {
            let count = part.end.saturating_sub(part.start) as usize;
            for (word, bits) in self.words(part.start, count).into_iter().flatten() {
                word.fetch_or(bits, Ordering::Relaxed);
            }
        }
    }

    /// Sets the bits behind the last frame.
    fn close(&self) {
        let frames = self.users[0].len() + self.users[1].len();
        if let (Some(last), 1..) = (self.owned.last(), frames % 64) {
            last.fetch_or(u64::MAX << (frames % 64), Ordering::Relaxed);
        }
    }

    fn is_unowned(&self, first: u64, count: usize) -> bool {
        let is_clear = |(word, bits): (&AtomicU64, u64)| word.load(Ordering::Acquire) & bits == 0;
        self.words(first, count).is_some_and(|mut words| words.all(is_clear))
    }
}

/// Claims all frames of some words, or none and false.
fn claim_words(words: &[AtomicU64]) -> bool {
    let is_taken =
        |word: &AtomicU64| word.compare_exchange(0, u64::MAX, Ordering::Acquire, Ordering::Relaxed).is_err();
    let taken = match words {
        // A large page.
        [a, b, c, d, e, f, g, h] => [a, b, c, d, e, f, g, h].into_iter().position(is_taken),
        _ => words.iter().position(is_taken),
    };
    if let Some(done) = taken {
        release_words(&words[..done]);
    }
    taken.is_none()
}

/// Gives up all frames of some words. Every bit is the caller's, so nobody else changes a word: a claim of a part finds the
/// bits set, and takes none of them back.
fn release_words(words: &[AtomicU64]) {
    match words {
        // A large page.
        [a, b, c, d, e, f, g, h] => {
            [a, b, c, d, e, f, g, h].into_iter().for_each(|word| word.store(0, Ordering::Release));
        }
        _ => words.iter().for_each(|word| word.store(0, Ordering::Release)),
    }
}

/// Claims `count` frames from `pa` on: all, or none and false if one has an owner or is no memory.
#[inline]
pub(crate) fn claim(pa: u64, count: usize) -> bool {
    let first = pa / PAGE_SIZE as u64;
    let Some(ledger) = at(first) else { return false };
    match (count, ledger.bit(first)) {
        (1, Some((word, bit))) => word.fetch_or(bit, Ordering::Acquire) & bit == 0,
        _ => ledger.claim(first, count),
    }
}

/// Gives frames up that were claimed.
#[inline]
pub(crate) fn release(pa: u64, count: usize) {
    let first = pa / PAGE_SIZE as u64;
    let Some(ledger) = at(first) else { return };
    match (count, ledger.bit(first)) {
        (1, Some((word, bit))) => drop(word.fetch_and(!bit, Ordering::Release)),
        _ => ledger.release(first, count),
    }
}

/// Whether a range of bytes is memory of which nobody owns any.
pub(crate) fn is_unowned(pa: u64, len: usize) -> bool {
    let Some(end) = pa.checked_add(len as u64) else { return false };
    let first = pa / PAGE_SIZE as u64;
    let count = end.div_ceil(PAGE_SIZE as u64) - first;
    at(first).is_some_and(|ledger| ledger.is_unowned(first, count as usize))
}

/// A word of the owner of a block, by its first frame: how often a single frame is lent, or the next block of a chain.
///
/// # Panics
/// If there is no such frame.
#[inline]
pub(crate) fn users(pa: u64) -> &'static AtomicU64 {
    let number = pa / PAGE_SIZE as u64;
    let ledger = at(number).expect("a frame that was claimed is in the ledger");
    let index = (number - ledger.first) as usize;
    let [low, high] = ledger.users;
    low.get(index).unwrap_or_else(|| &high[index - low.len()])
}

/// Whether a range of bytes is memory of one arena.
#[cfg(not(target_os = "none"))]
pub(super) fn is_memory(pa: u64, len: usize) -> bool {
    let first = pa / PAGE_SIZE as u64;
    let count = (pa + len as u64).div_ceil(PAGE_SIZE as u64) - first;
    at(first).is_some_and(|ledger| ledger.words(first, count as usize).is_some())
}

#[cfg(target_os = "none")]
mod machine {
    use core::ops::Range;
    use core::sync::atomic::AtomicU64;

    use arrayvec::ArrayVec;
    use spin::Once;

    use super::Ledger;
    use crate::boot::{BootInfo, MAX_RANGES};
    use crate::memory::layout::{BOOT_MAPPED, DIRECT_MAP_SIZE, PAGE_SIZE};
    use crate::memory::phys;
    use crate::sync::SpinLock;

    static LEDGER: Once<Ledger> = Once::new();
    /// Free memory that the ledger is in.
    static PLACES: SpinLock<ArrayVec<Range<u64>, 2>> = SpinLock::new(ArrayVec::new_const());
    static RAM: Once<ArrayVec<Range<u64>, MAX_RANGES>> = Once::new();

    #[inline(always)]
    pub(super) fn at(_frame: u64) -> Option<&'static Ledger> {
        LEDGER.get()
    }

    /// Free memory that is not free.
    pub(crate) fn places() -> ArrayVec<Range<u64>, 2> {
        PLACES.lock().clone()
    }

    /// Whether a part of a range is what the boot loader calls RAM.
    pub(crate) fn has_memory(pa: u64, len: usize) -> bool {
        let overlaps = |ram: &Range<u64>| pa < ram.end && ram.start < pa.saturating_add(len as u64);
        RAM.get().is_some_and(|ranges| ranges.iter().any(overlaps))
    }

    /// Whether memory is given out.
    pub(crate) fn is_made() -> bool {
        LEDGER.is_completed()
    }

    /// Makes the ledger, in free memory, which is reserved from now on; the rest of the free memory is nobody's. Once,
    /// before any frame is claimed.
    ///
    /// # Panics
    /// If there is no room for it.
    #[inline(never)] // Its frame is large, and is to be gone when the caller goes on.
    pub fn init(info: &BootInfo) {
        RAM.call_once(|| info.memory().collect());
        LEDGER.call_once(|| {
            let end = info.memory().map(|range| range.end.min(DIRECT_MAP_SIZE)).max().unwrap_or(0);
            let frames = (end / PAGE_SIZE as u64) as usize;
            let owned_words = frames.div_ceil(64);
            // Where the boot tables reach there are words that they reach, too: frames are claimed before the final tables.
            let low_frames = frames.min((BOOT_MAPPED / PAGE_SIZE as u64) as usize);
            let owned_bytes = owned_words * size_of::<AtomicU64>();
            let low = place(info, owned_bytes + low_frames * size_of::<AtomicU64>(), BOOT_MAPPED);
            let high = place(info, (frames - low_frames) * size_of::<AtomicU64>(), DIRECT_MAP_SIZE);
            // SAFETY: all lie in free memory that is reserved for them, for good. What is touched before the final page tables
            // is in what the boot tables map.
            let ledger = unsafe {
                phys::zero(low, owned_bytes);
                let users = phys::slice(low + owned_bytes as u64, low_frames);
                let users = [users, phys::slice(high, frames - low_frames)];
                Ledger { first: 0, owned: phys::slice(low, owned_words), users }
            };
            let mut behind = 0;
            for range in info.free_memory() {
                let (start, end) = (range.start / PAGE_SIZE as u64, range.end / PAGE_SIZE as u64);
                ledger.withhold(behind, start.min(frames as u64));
                behind = end;
            }
            ledger.withhold(behind, frames as u64);
            ledger.close();
            ledger
        });
    }

    /// Reserves so many bytes of free memory below a limit, and returns where.
    #[inline(never)]
    fn place(info: &BootInfo, bytes: usize, limit: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let bytes = bytes.next_multiple_of(PAGE_SIZE) as u64;
        let free = info.free_memory();
        let fits = |range: &&Range<u64>| range.start + bytes <= range.end.min(limit);
        let start = free.iter().find(fits).expect("room for the ledger of frames").start;
        PLACES.lock().push(start..start + bytes);
        start
    }
}
#[cfg(target_os = "none")]
use machine::at;
#[cfg(target_os = "none")]
pub use machine::init;
#[cfg(target_os = "none")]
pub(crate) use machine::{has_memory, is_made, places};

/// On the host arenas stand in for memory, and each has a ledger of its own.
#[cfg(not(target_os = "none"))]
mod host {
    use alloc::boxed::Box;
    use alloc::collections::BTreeMap;
    use core::sync::atomic::AtomicU64;

    use super::Ledger;
    use crate::memory::layout::PAGE_SIZE;
    use crate::sync::SpinLock;

    static ARENAS: SpinLock<BTreeMap<u64, Ledger>> = SpinLock::new(BTreeMap::new());

    pub(super) fn at(frame: u64) -> Option<Ledger> {
        ARENAS.lock().range(..=frame).next_back().map(|(_, ledger)| *ledger)
    }

    /// Whether a part of a range is an arena's.
    pub(crate) fn has_memory(pa: u64, len: usize) -> bool {
        let (first, end) = (pa / PAGE_SIZE as u64, pa.saturating_add(len as u64).div_ceil(PAGE_SIZE as u64));
        let overlaps = |arena: &Ledger| first < arena.first + arena.users[0].len() as u64;
        ARENAS.lock().range(..end).next_back().is_some_and(|(_, arena)| overlaps(arena))
    }

    /// Reserves memory that stands in for `bytes` of RAM and returns its "physical" address, 2 MiB-aligned. Host tests
    /// only; never freed.
    pub fn host_arena(bytes: usize) -> u64 {
        const ALIGN: usize = 2 << 20;
        // Aligned here and not by the allocator, which would write to every page of an aligned block to zero it.
        let layout = core::alloc::Layout::from_size_align(bytes + ALIGN, 1).expect("arena layout");
        // SAFETY: the size is not zero.
        let base = unsafe { alloc::alloc::alloc_zeroed(layout) };
        assert!(!base.is_null(), "host arena");
        let pa = base.expose_provenance().next_multiple_of(ALIGN) as u64;
        let (first, frames) = (pa / PAGE_SIZE as u64, bytes / PAGE_SIZE);
        let owned = (0..frames.div_ceil(64)).map(|_| AtomicU64::new(0)).collect::<Box<_>>();
        let users = (0..frames).map(|_| AtomicU64::new(0)).collect::<Box<_>>();
        let ledger = Ledger { first, owned: Box::leak(owned), users: [Box::leak(users), &[]] };
        ledger.close();
        ARENAS.lock().insert(first, ledger);
        pa
    }
}
#[cfg(not(target_os = "none"))]
use host::at;
#[cfg(not(target_os = "none"))]
pub(crate) use host::has_memory;
#[cfg(not(target_os = "none"))]
pub use host::host_arena;

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = PAGE_SIZE as u64;

    #[test]
    fn a_frame_has_one_owner() {
        let base = host_arena(2 << 20);
        assert!(claim(base, 1) && !claim(base, 1) && claim(base + PAGE, 1));
        // All or nothing, over the borders of words.
        assert!(claim(base + 130 * PAGE, 1) && !claim(base + 60 * PAGE, 100));
        assert!(
            is_unowned(base + 60 * PAGE, 70 * PAGE_SIZE) && !is_unowned(base + 60 * PAGE, 71 * PAGE_SIZE)
        );
        release(base + 130 * PAGE, 1);
        assert!(claim(base + 60 * PAGE, 100) && !claim(base + 159 * PAGE, 1) && claim(base + 160 * PAGE, 1));
    }

    #[test]
    fn runs_of_whole_words_are_claimed_all_or_not() {
        let base = host_arena(4 << 20);
        let large = base + (2 << 20);
        assert!(claim(large + 300 * PAGE, 1) && !claim(large, 512) && !claim(base + 64 * PAGE, 960));
        assert!(is_unowned(base, 812 * PAGE_SIZE), "the failures have claimed nothing");
        release(large + 300 * PAGE, 1);
        assert!(claim(large, 512) && !claim(large, 512) && !claim(large + 511 * PAGE, 1));
        assert!(!claim(large - PAGE, 65) && claim(large - PAGE, 1) && !claim(base, 576));
        release(large, 512);
        assert!(is_unowned(large, 2 << 20) && claim(large + 511 * PAGE, 1));
    }

    #[test]
    fn frames_that_are_withheld_are_exactly_those_of_the_range() {
        let frames = 512;
        for (start, end) in
            [(0, 0), (0, 512), (3, 3), (3, 5), (3, 70), (64, 128), (60, 200), (128, 130), (511, 512)]
        {
            let base = host_arena(2 << 20);
            let first = base / PAGE;
            at(first).unwrap().withhold(first + start, first + end);
            for frame in 0..frames {
                let is_withheld = !is_unowned(base + frame * PAGE, PAGE_SIZE);
                assert_eq!(is_withheld, (start..end).contains(&frame), "frame {frame} of {start}..{end}");
            }
        }
    }

    #[test]
    fn what_is_no_memory_has_no_other_owner() {
        let odd = host_arena(3 * PAGE_SIZE);
        assert!(claim(odd + 2 * PAGE, 1) && !claim(odd + 3 * PAGE, 1) && !claim(odd + 63 * PAGE, 1));
        let base = host_arena(2 << 20);
        assert!(!claim(base - PAGE, 1) && !claim(base + (2 << 20), 1) && !claim(base + (2 << 20) - PAGE, 2));
        assert!(claim(base + (2 << 20) - PAGE, 1), "the failure has claimed nothing");
        assert!(!is_unowned(base + (2 << 20) - 1, 2) && !is_unowned(u64::MAX, 2) && !claim(0, 1));
    }
}
