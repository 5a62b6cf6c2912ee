// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The mappings of a window, by address: finding, cutting, merging, and finding room for new ones.
//!
//! Neighbours that are alike are always one mapping. Room is searched from the top down; a cursor remembers how far down
//! everything is taken, so that a program with thousands of mappings does not look at all of them for each new one.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::vma::{Vma, VmaFlags};
use super::{PAGE_SIZE, WINDOW_END, WINDOW_START};

/// The mappings of a window.
pub(super) struct VmaMap {
    /// By start address; no two overlap.
    tree: BTreeMap<usize, Vma>,
    mapped_bytes: usize,
    mapped_peak_bytes: usize,
    locked_bytes: usize,
    top: usize,
    /// No gap that ends above this (and below `top`) has room for more than `widest_above`. What is busy does not count as
    /// room: whoever ends that says so by [`VmaMap::note_gap`].
    cursor: usize,
    widest_above: usize,
}

/// How much room is needed, and where: at an address that is `phase` modulo `align`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) len: usize,
    pub(super) align: usize,
    pub(super) phase: usize,
}

impl Room {
    /// The highest place in `start..end`, keeping clear of what `busy` names.
    fn place(
        self,
        start: usize,
        mut end: usize,
        busy: &dyn Fn(usize, usize) -> Option<usize>,
    ) -> Option<usize> {
        loop {
            let highest = end.checked_sub(self.len)?;
            let at = highest.checked_sub(highest.wrapping_sub(self.phase) % self.align)?;
            if at < start {
                return None;
            }
            match busy(at, at + self.len) {
                None => return Some(at),
                Some(taken) => end = taken,
            }
        }
    }
}

impl VmaMap {
    /// No mappings; new ones go below `top` if there is room.
    pub(super) fn new(top: usize) -> Self {
        Self {
            tree: BTreeMap::new(),
            mapped_bytes: 0,
            mapped_peak_bytes: 0,
            locked_bytes: 0,
            top,
            cursor: top,
            widest_above: 0,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.tree.len()
    }

    /// Bytes mapped now, and at most so far.
    pub(super) fn mapped_bytes(&self) -> (usize, usize) {
        (self.mapped_bytes, self.mapped_peak_bytes)
    }

    /// Bytes that are locked.
    pub(super) fn locked_bytes(&self) -> usize {
        self.locked_bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Vma> {
        self.tree.values()
    }

    /// The mapping that contains `addr`.
    pub(super) fn find(&self, addr: usize) -> Option<&Vma> {
        self.tree.range(..=addr).next_back().map(|(_, vma)| vma).filter(|vma| addr < vma.end)
    }

    /// The mappings that have a part in `start..end`, in order.
    pub(super) fn overlapping(&self, start: usize, end: usize) -> impl Iterator<Item = &Vma> {
        let first = self.find(start).map_or(start, |vma| vma.start);
        self.tree.range(first..end.max(first)).map(|(_, vma)| vma)
    }

    /// Whether nothing is mapped in `start..end`.
    pub(super) fn is_free(&self, start: usize, end: usize) -> bool {
        self.overlapping(start, end).next().is_none()
    }

    /// The end of the part of `start..end` that is mapped without a hole from `start` on, as far as `accept` agrees.
    pub(super) fn covered_until(&self, start: usize, end: usize, accept: impl Fn(&Vma) -> bool) -> usize {
        let mut at = start;
        for vma in self.overlapping(start, end) {
            if vma.start > at || !accept(vma) {
                break;
            }
            at = vma.end;
        }
        at.min(end)
    }

    /// Adds a mapping where nothing is mapped.
    pub(super) fn insert(&mut self, vma: Vma) {
        debug_assert!(self.is_free(vma.start, vma.end));
        let (start, end) = (vma.start, vma.end);
        self.mapped_bytes += end - start;
        self.locked_bytes += vma.locked_bytes();
        self.mapped_peak_bytes = self.mapped_peak_bytes.max(self.mapped_bytes);
        self.tree.insert(start, vma);
        self.join(end);
        self.join(start);
    }

    /// Moves everything in `start..end` to an empty list, cutting mappings that stick out.
    pub(super) fn take(&mut self, start: usize, end: usize, taken: &mut Vec<Vma>) {
        self.cut(start);
        self.cut(end);
        while let Some((&at, _)) = self.tree.range(start..end).next() {
            taken.extend(self.tree.remove(&at));
        }
        self.mapped_bytes -= taken.iter().map(Vma::len).sum::<usize>();
        self.locked_bytes -= taken.iter().map(Vma::locked_bytes).sum::<usize>();
        if !taken.is_empty() {
            self.note_gap(start);
        }
    }

    /// There may be more room around this address than before.
    pub(super) fn note_gap(&mut self, addr: usize) {
        let (gap_start, gap_end) = self.gap_around(addr);
        if gap_end > self.cursor {
            self.widest_above = self.widest_above.max(gap_end.saturating_sub(gap_start));
        }
    }

    /// Changes all mappings in `start..end`, cutting those that stick out and joining what is alike afterwards.
    pub(super) fn update(&mut self, start: usize, end: usize, mut change: impl FnMut(&mut Vma)) {
        self.cut(start);
        self.cut(end);
        for (_, vma) in self.tree.range_mut(start..end) {
            change(vma);
        }
        let mut at = start;
        while at <= end {
            self.join(at);
            let Some((&next, _)) = self.tree.range(at + 1..).next() else { break };
            at = next;
        }
    }

    /// Gives all mappings in `start..end` the flags of a lock that `flags` says, or leaves them as they are.
    pub(super) fn lock(&mut self, start: usize, end: usize, flags: impl Fn(&Vma) -> Option<VmaFlags>) {
        let (mut before, mut after) = (0, 0);
        self.update(start, end, |vma| {
            before += vma.locked_bytes();
            if let Some(flags) = flags(vma) {
                vma.flags.remove(VmaFlags::LOCKED | VmaFlags::LOCKED_ON_FAULT);
                vma.flags.insert(flags);
            }
            after += vma.locked_bytes();
        });
        self.locked_bytes = self.locked_bytes - before + after;
    }

    /// Makes `at` a border between mappings.
    fn cut(&mut self, at: usize) {
        let Some((&start, vma)) = self.tree.range_mut(..at).next_back() else { return };
        if start < at && at < vma.end {
            let upper = vma.split_off(at);
            self.tree.insert(at, upper);
        }
    }

    /// Joins the mapping that begins at `at` with the one before, if they are alike.
    fn join(&mut self, at: usize) {
        let Some(upper) = self.tree.get(&at) else { return };
        let Some((_, lower)) = self.tree.range(..at).next_back() else { return };
        if !lower.continues_in(upper) {
            return;
        }
        let end = upper.end;
        self.tree.remove(&at);
        if let Some((_, lower)) = self.tree.range_mut(..at).next_back() {
            lower.end = end;
        }
    }

    /// The gap that contains `addr`, as far as it is below the top.
    fn gap_around(&self, addr: usize) -> (usize, usize) {
        let start = self.tree.range(..addr).next_back().map_or(WINDOW_START, |(_, vma)| vma.end);
        let end = self.tree.range(addr..).next().map_or(self.top, |(&start, _)| start.min(self.top));
        (start, end)
    }

    /// Finds room below the top, as high as possible, or else anywhere. `busy` tells the start of what is taken for another
    /// reason in a range.
    pub(super) fn find_room(
        &mut self,
        room: Room,
        busy: &dyn Fn(usize, usize) -> Option<usize>,
    ) -> Option<usize> {
        if room.len > self.widest_above
            && let (Some(at), widest) = self.search(room, self.cursor, busy)
        {
            self.cursor = at;
            self.widest_above = self.widest_above.max(widest);
            return Some(at);
        }
        if let (Some(at), widest) = self.search(room, self.top, busy) {
            self.cursor = at;
            self.widest_above = widest;
            return Some(at);
        }
        self.search(room, WINDOW_END, busy).0
    }

    /// Searches downwards from `from`; returns also the length of the widest gap passed over.
    fn search(
        &self,
        room: Room,
        from: usize,
        busy: &dyn Fn(usize, usize) -> Option<usize>,
    ) -> (Option<usize>, usize) {
        let mut end = from;
        let mut widest = 0;
        // What a room of one page's alignment did not fit into is smaller, or busy. Counting what is busy would make every
        // later search begin at the top for as long as it is.
        let left = |len: usize| if room.align == PAGE_SIZE { len.min(room.len - 1) } else { len };
        let below = self.tree.range(..from).rev().map(|(_, vma)| (vma.start, vma.end));
        for (lower, start) in below.chain([(WINDOW_START, WINDOW_START)]) {
            if start < end {
                if let Some(at) = room.place(start, end, busy) {
                    return (Some(at), widest.max(left(end - (at + room.len))));
                }
                widest = widest.max(left(end - start));
            }
            end = end.min(lower);
        }
        (None, widest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::vma::{Backing, Name, Prot, VmaFlags};
    use super::*;
    use proptest::prelude::*;

    const TOP: usize = 0x4000_0000;

    fn vma(start: usize, end: usize, prot: Prot) -> Vma {
        let backing = Backing::Anonymous;
        Vma {
            start,
            end,
            prot,
            max_prot: Prot::all(),
            flags: VmaFlags::empty(),
            backing,
            name: Name::None,
            policy: None,
        }
    }

    fn ranges(map: &VmaMap) -> Vec<(usize, usize)> {
        map.iter().map(|vma| (vma.start, vma.end)).collect()
    }

    fn never(_: usize, _: usize) -> Option<usize> {
        None
    }

    fn room(len: usize) -> Room {
        Room { len, align: PAGE_SIZE, phase: 0 }
    }

    #[test]
    fn alike_neighbours_join_and_changes_cut() {
        let mut map = VmaMap::new(TOP);
        map.insert(vma(0x10_0000, 0x10_2000, Prot::READ));
        map.insert(vma(0x10_4000, 0x10_6000, Prot::READ));
        map.insert(vma(0x10_2000, 0x10_4000, Prot::READ));
        assert_eq!(ranges(&map), [(0x10_0000, 0x10_6000)]);
        map.update(0x10_1000, 0x10_2000, |vma| vma.prot = Prot::WRITE);
        assert_eq!(ranges(&map), [(0x10_0000, 0x10_1000), (0x10_1000, 0x10_2000), (0x10_2000, 0x10_6000)]);
        map.update(0x10_1000, 0x10_2000, |vma| vma.prot = Prot::READ);
        assert_eq!(ranges(&map), [(0x10_0000, 0x10_6000)]);
        let mut taken = Vec::new();
        map.take(0x10_2000, 0x10_3000, &mut taken);
        assert_eq!(taken.len(), 1);
        assert_eq!(ranges(&map), [(0x10_0000, 0x10_2000), (0x10_3000, 0x10_6000)]);
        assert_eq!(map.mapped_bytes(), (0x5000, 0x6000));
    }

    #[test]
    fn room_is_found_from_the_top_down_and_filled_again() {
        let mut map = VmaMap::new(TOP);
        let first = map.find_room(room(0x4000), &never).expect("room");
        assert_eq!(first, TOP - 0x4000);
        map.insert(vma(first, first + 0x4000, Prot::READ));
        let second = map.find_room(room(0x1000), &never).expect("room");
        assert_eq!(second, first - 0x1000);
        map.insert(vma(second, second + 0x1000, Prot::WRITE));
        map.take(first + 0x1000, first + 0x3000, &mut Vec::new());
        assert_eq!(map.find_room(room(0x2000), &never), Some(first + 0x1000));
        assert_eq!(map.find_room(room(0x3000), &never), Some(second - 0x3000));
    }

    #[test]
    fn room_keeps_clear_of_busy_ranges_and_honours_alignment() {
        let mut map = VmaMap::new(TOP);
        let busy =
            |start: usize, end: usize| (start < TOP && end > TOP - 0x10_0000).then_some(TOP - 0x10_0000);
        assert_eq!(map.find_room(room(0x1000), &busy), Some(TOP - 0x10_1000));
        let aligned = Room { len: 0x30_0000, align: 0x20_0000, phase: 0x1000 };
        let at = map.find_room(aligned, &busy).expect("room");
        assert_eq!(at % 0x20_0000, 0x1000);
        assert!(at + 0x30_0000 <= TOP - 0x10_0000);
    }

    #[test]
    fn busy_ranges_do_not_send_every_search_to_the_top() {
        let mut map = VmaMap::new(TOP);
        let held = TOP - 0x8000;
        let busy = |start: usize, end: usize| (start < TOP && end > held).then_some(held);
        let mut lowest = held;
        for _ in 0..10 {
            let at = map.find_room(room(0x4000), &busy).expect("room");
            assert_eq!(at, lowest - 0x4000);
            map.insert(vma(at, at + 0x4000, Prot::READ));
            assert!(map.widest_above < 0x4000, "the next search begins at the cursor");
            lowest = at;
        }
        map.note_gap(held);
        assert_eq!(map.find_room(room(0x4000), &never), Some(TOP - 0x4000));
    }

    #[test]
    fn a_full_lower_part_falls_back_to_the_whole_window() {
        let mut map = VmaMap::new(TOP);
        map.insert(vma(WINDOW_START, TOP, Prot::READ));
        assert_eq!(map.find_room(room(0x1000), &never), Some(WINDOW_END - 0x1000));
        assert_eq!(map.find_room(room(WINDOW_END), &never), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        /// The cursor changes how fast room is found, never where.
        #[test]
        fn the_cursor_finds_what_a_full_search_finds(
            operations in proptest::collection::vec((any::<bool>(), 1usize..9, any::<prop::sample::Index>()), 1..150),
        ) {
            let mut map = VmaMap::new(WINDOW_START + 200 * PAGE_SIZE);
            for (add, pages, which) in operations {
                if add {
                    let wanted = room(pages * PAGE_SIZE);
                    let full = map.search(wanted, map.top, &never).0;
                    let full = full.or_else(|| map.search(wanted, WINDOW_END, &never).0);
                    let found = map.find_room(wanted, &never);
                    prop_assert_eq!(found, full);
                    let at = found.expect("the window is never full");
                    let prot = if (at / PAGE_SIZE).is_multiple_of(2) { Prot::READ } else { Prot::WRITE };
                    map.insert(vma(at, at + wanted.len, prot));
                } else if map.count() > 0 {
                    let (start, end) = ranges(&map)[which.index(map.count())];
                    let start = start + (end - start) / PAGE_SIZE / 3 * PAGE_SIZE;
                    map.take(start, (start + pages * PAGE_SIZE).min(WINDOW_END), &mut Vec::new());
                }
                prop_assert_eq!(map.iter().map(Vma::len).sum::<usize>(), map.mapped_bytes().0);
            }
        }
    }
}
