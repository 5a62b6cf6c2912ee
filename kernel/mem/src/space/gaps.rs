// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gaps between the mappings of a window, by size and address: a program with thousands of mappings finds room for a new
//! one without a look at each.
//!
//! Sizes are in classes, each up to twice as large as the one before. Of a larger class than that of the room the first gap
//! fits, but for alignment and what is busy; of the same class some gaps may be too small.
//!
//! Unmapping adds gaps, and must not fail for lack of memory: then all gaps are forgotten, which frees what they took, and found
//! again when room is next sought and there is memory.

use alloc::collections::BTreeMap;

use hadal_hal::memory::fallible::{self, SMALL_BYTES};

use super::{PAGE_SIZE, WINDOW_END};

/// Gaps of a class that are looked at as long as another class may have room.
pub(super) const LOOKS: usize = 32;

/// Bits of an address of a program.
const ADDRESS_BITS: u32 = 56;
const _: () = assert!(WINDOW_END as u64 <= 1 << ADDRESS_BITS);

/// Classes of sizes: powers of two, in pages.
const CLASSES: u8 = (usize::BITS - PAGE_SIZE.ilog2()) as u8;

/// How much room is needed, and where: at an address that is `phase` modulo `align`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) len: usize,
    pub(super) align: usize,
    pub(super) phase: usize,
}

/// Tells the start of what is taken in a range for another reason than a mapping.
pub(super) type Busy<'a> = &'a dyn Fn(usize, usize) -> Option<usize>;

impl Room {
    /// The highest place in `start..end`.
    fn fit(self, start: usize, end: usize) -> Option<usize> {
        let highest = end.checked_sub(self.len)?;
        let at = highest.checked_sub(highest.wrapping_sub(self.phase) % self.align)?;
        (at >= start).then_some(at)
    }

    /// A place in `start..end` that keeps clear of what is busy: the highest, or one of the two highest, or below all that is
    /// busy; with `thorough` any.
    pub(super) fn place(self, start: usize, mut end: usize, busy: Busy<'_>, thorough: bool) -> Option<usize> {
        for step in 0.. {
            let at = self.fit(start, end)?;
            let Some(taken) = busy(at, at + self.len) else { return Some(at) };
            end = if step == 0 || thorough { taken } else { busy(start, taken).unwrap_or(taken) };
        }
        None
    }
}

/// Ranges of whole pages that do not overlap: all gaps, or none while they are forgotten.
#[derive(Debug)]
pub(super) struct Gaps {
    /// Their ends, by [`key`].
    ends: BTreeMap<u64, usize>,
    /// Gaps by class.
    counts: [usize; CLASSES as usize],
    /// The classes of which there are any: a bit for each.
    classes: u64,
    forgotten: bool,
}

impl Gaps {
    pub(super) fn new() -> Self {
        Self { ends: BTreeMap::new(), counts: [0; CLASSES as usize], classes: 0, forgotten: false }
    }

    /// Forgets all gaps unless there is memory for one more.
    pub(super) fn make_room_or_forget(&mut self) {
        if !self.forgotten && fallible::admit(SMALL_BYTES).is_err() {
            self.forget();
        }
    }

    #[cold]
    pub(super) fn forget(&mut self) {
        *self = Self { forgotten: true, ..Self::new() };
    }

    /// Takes in `all` gaps if they are forgotten; whether they are known now. They are not when memory is short.
    pub(super) fn learn(&mut self, all: impl Iterator<Item = (usize, usize)>) -> bool {
        if self.forgotten {
            self.forgotten = false;
            for (start, end) in all {
                self.make_room_or_forget();
                if self.forgotten {
                    break;
                }
                self.add(start, end);
            }
        }
        !self.forgotten
    }

    /// Adds a gap, if it is one.
    pub(super) fn add(&mut self, start: usize, end: usize) {
        if start < end && !self.forgotten {
            let class = class(end - start);
            self.ends.insert(key(class, start), end);
            self.counts[usize::from(class)] += 1;
            self.classes |= 1 << class;
        }
    }

    /// Removes a gap that is there, if it is one.
    pub(super) fn remove(&mut self, start: usize, end: usize) {
        if start < end && !self.forgotten {
            let class = class(end - start);
            let known = self.ends.remove(&key(class, start));
            debug_assert_eq!(known, Some(end), "no gap {start:#x}..{end:#x}");
            self.counts[usize::from(class)] -= 1;
            if self.counts[usize::from(class)] == 0 {
                self.classes &= !(1 << class);
            }
        }
    }

    /// Moves the end of a gap that is there; either of the two ends may be the start.
    pub(super) fn resize(&mut self, start: usize, end: usize, new_end: usize) {
        let same = start < end && start < new_end && class(end - start) == class(new_end - start);
        match same.then(|| self.ends.get_mut(&key(class(end - start), start))).flatten() {
            Some(end) => *end = new_end,
            None => {
                self.remove(start, end);
                self.add(start, new_end);
            }
        }
    }

    /// A place below an address. It is the highest, unless much is busy or a class has more than [`LOOKS`] gaps that are too
    /// small or not aligned.
    pub(super) fn place(&self, room: Room, below: usize, busy: Busy<'_>) -> Option<usize> {
        self.highest(room, below, busy, false).or_else(|| self.highest(room, below, busy, true))
    }

    fn highest(&self, room: Room, below: usize, busy: Busy<'_>, thorough: bool) -> Option<usize> {
        let looks = if thorough { usize::MAX } else { LOOKS };
        let mut classes = self.classes >> class(room.len) << class(room.len);
        let mut best = None;
        // From the largest class on: the first gap of a large class fits, and ends the search in those of the smaller ones that
        // lie lower.
        while let Some(class) = classes.checked_ilog2() {
            classes &= !(1 << class);
            let class = class as u8;
            let gaps = self.ends.range(key(class, 0)..key(class, below)).rev().take(looks);
            let gaps = gaps.map(|(&key, &end)| (start(key), end));
            let mut higher = gaps.take_while(|(_, end)| best.is_none_or(|best| *end > best));
            best =
                best.max(higher.find_map(|(start, end)| room.place(start, end.min(below), busy, thorough)));
        }
        best
    }

    #[cfg(test)]
    pub(super) fn ascending(&self) -> alloc::vec::Vec<(usize, usize)> {
        let mut gaps: alloc::vec::Vec<_> = self.ends.iter().map(|(&key, &end)| (start(key), end)).collect();
        gaps.sort_unstable();
        assert_eq!(gaps.len(), self.counts.iter().sum());
        gaps
    }
}

/// The class of a length that is not 0.
fn class(len: usize) -> u8 {
    (len / PAGE_SIZE).max(1).ilog2() as u8
}

/// Orders gaps by class, then by start: one word, which is faster to compare than two.
fn key(class: u8, start: usize) -> u64 {
    u64::from(class) << ADDRESS_BITS | start as u64
}

/// The start in a key.
fn start(key: u64) -> usize {
    (key & ((1 << ADDRESS_BITS) - 1)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::cell::Cell;
    use proptest::prelude::*;

    const END: usize = 1 << 40;

    fn room(pages: usize) -> Room {
        Room { len: pages * PAGE_SIZE, align: PAGE_SIZE, phase: 0 }
    }

    fn never(_: usize, _: usize) -> Option<usize> {
        None
    }

    /// The highest place, by a look at every gap.
    fn highest_of_all(gaps: &[(usize, usize)], room: Room, below: usize) -> Option<usize> {
        let reachable = gaps.iter().filter(|gap| gap.0 < below);
        reachable.filter_map(|&(start, end)| room.fit(start, end.min(below))).max()
    }

    #[test]
    fn many_gaps_that_are_too_small_are_not_looked_at() {
        let mut gaps = Gaps::new();
        let looks = Cell::new(0);
        let count = |_: usize, _: usize| {
            looks.set(looks.get() + 1);
            None
        };
        gaps.add(0, 16 * PAGE_SIZE);
        for index in 0..10_000 {
            let start = (32 + 4 * index) * PAGE_SIZE;
            gaps.add(start, start + 2 * PAGE_SIZE);
        }
        assert_eq!(gaps.place(room(3), END, &count), Some(13 * PAGE_SIZE));
        assert_eq!(gaps.place(room(2), END, &count), Some((32 + 4 * 9_999) * PAGE_SIZE));
        assert!(looks.get() < 10);
        // Nor are many that are busy, unless there is no other.
        let busy = |start: usize, _: usize| (start > 100 * PAGE_SIZE).then_some(start);
        assert_eq!(gaps.place(room(2), END, &busy), Some(14 * PAGE_SIZE));
        gaps.remove(0, 16 * PAGE_SIZE);
        assert_eq!(gaps.place(room(2), END, &busy), Some(100 * PAGE_SIZE));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn finds_room_where_a_look_at_every_gap_does(
            pieces in proptest::collection::vec((1usize..40, 1usize..5), 1..200),
            rooms in proptest::collection::vec((1usize..40, 0u32..4, 0usize..8, 1usize..6000), 20),
        ) {
            let mut gaps = Gaps::new();
            let (mut at, mut list) = (0, Vec::new());
            for (len, distance) in pieces {
                list.push((at * PAGE_SIZE, (at + len) * PAGE_SIZE));
                gaps.add(at * PAGE_SIZE, (at + len) * PAGE_SIZE);
                at += len + distance;
            }
            for (pages, align, phase, below) in rooms {
                let align = PAGE_SIZE << align;
                let room = Room { len: pages * PAGE_SIZE, align, phase: phase * PAGE_SIZE % align };
                let below = below * PAGE_SIZE;
                let found = gaps.place(room, below, &never);
                let best = highest_of_all(&list, room, below);
                prop_assert_eq!(found.is_some(), best.is_some());
                if let Some(at) = found {
                    prop_assert_eq!(at % align, room.phase);
                    let end = at + room.len;
                    prop_assert!(end <= below && list.iter().any(|gap| gap.0 <= at && end <= gap.1));
                }
                if list.len() <= LOOKS {
                    prop_assert_eq!(found, best);
                }
            }
            for (start, end) in list {
                gaps.remove(start, end);
            }
            prop_assert!(gaps.ascending().is_empty());
        }
    }
}
