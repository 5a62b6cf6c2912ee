// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The mappings of a window, by address: finding, cutting, merging, and finding room for new ones.
//!
//! Neighbours that are alike are always one mapping. Room for a new one is as high as possible below the top, as on Linux.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::gaps::{Busy, Gaps, Room};
use super::vma::{Vma, VmaFlags};
use super::{WINDOW_END, WINDOW_START};

/// The mappings of a window.
pub(super) struct VmaMap {
    /// By start address; no two overlap.
    tree: BTreeMap<usize, Vma>,
    mapped_bytes: usize,
    mapped_peak_bytes: usize,
    locked_bytes: usize,
    /// What is not mapped.
    gaps: Gaps,
    top: usize,
}

impl VmaMap {
    /// No mappings; new ones go below `top` if there is room.
    pub(super) fn new(top: usize) -> Self {
        let mut gaps = Gaps::new();
        gaps.add(WINDOW_START, WINDOW_END);
        Self { tree: BTreeMap::new(), mapped_bytes: 0, mapped_peak_bytes: 0, locked_bytes: 0, gaps, top }
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
    pub(super) fn insert(&mut self, mut vma: Vma) {
        debug_assert!(self.is_free(vma.start, vma.end));
        let (start, end) = (vma.start, vma.end);
        self.mapped_bytes += end - start;
        self.locked_bytes += vma.locked_bytes();
        self.mapped_peak_bytes = self.mapped_peak_bytes.max(self.mapped_bytes);
        let above = self.tree.range(start..).next().map(|(&above, next)| (above, vma.continues_in(next)));
        let (gap_end, is_alike) = above.unwrap_or((WINDOW_END, false));
        if is_alike && let Some(above) = self.tree.remove(&gap_end) {
            vma.end = above.end;
        }
        let below = self.tree.range_mut(..start).next_back().map(|(_, below)| below);
        let gap_start = below.as_ref().map_or(WINDOW_START, |below| below.end);
        self.gaps.resize(gap_start, gap_end, start);
        self.gaps.add(end, gap_end);
        match below {
            Some(below) if below.continues_in(&vma) => below.end = vma.end,
            _ => drop(self.tree.insert(start, vma)),
        }
    }

    /// Moves everything in `start..end` to an empty list, cutting mappings that stick out.
    pub(super) fn take(&mut self, start: usize, end: usize, taken: &mut Vec<Vma>) {
        // All that is taken leaves one gap.
        self.gaps.make_room_or_forget();
        let mut gap_start = WINDOW_START;
        let below = self.tree.range_mut(..start).next_back().map(|(_, below)| below);
        let upper = below.and_then(|below| {
            let upper = (below.end > start).then(|| below.split_off(start));
            gap_start = below.end;
            upper
        });
        if let Some(upper) = upper {
            self.tree.insert(start, upper);
        }
        let mut next = self.start_from(start);
        while next < end {
            let Some(mut vma) = self.tree.remove(&next) else { break };
            if vma.end > end {
                self.tree.insert(end, vma.split_off(end));
            }
            next = self.start_from(vma.end);
            self.gaps.remove(vma.end, next);
            self.gaps.resize(gap_start, vma.start, next);
            taken.push(vma);
        }
        self.mapped_bytes -= taken.iter().map(Vma::len).sum::<usize>();
        self.locked_bytes -= taken.iter().map(Vma::locked_bytes).sum::<usize>();
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

    /// The start of the first mapping from an address on.
    fn start_from(&self, addr: usize) -> usize {
        self.tree.range(addr..).next().map_or(WINDOW_END, |(&start, _)| start)
    }

    /// Finds room below the top, or else anywhere ([`Gaps::place`]).
    pub(super) fn find_room(&mut self, room: Room, busy: Busy<'_>) -> Option<usize> {
        let known = self.gaps.learn(gaps_between(&self.tree));
        let place = |below| match known {
            true => self.gaps.place(room, below, busy),
            false => highest_place(&self.tree, room, below, busy),
        };
        place(self.top).or_else(|| place(WINDOW_END))
    }
}

/// What is not mapped, from the top down.
fn gaps_between(tree: &BTreeMap<usize, Vma>) -> impl Iterator<Item = (usize, usize)> {
    let starts = tree.values().rev().map(|vma| vma.end).chain([WINDOW_START]);
    let ends = [WINDOW_END].into_iter().chain(tree.values().rev().map(|vma| vma.start));
    starts.zip(ends).filter(|(start, end)| start < end)
}

/// The highest place below an address, by a look at every mapping above it.
fn highest_place(tree: &BTreeMap<usize, Vma>, room: Room, below: usize, busy: Busy<'_>) -> Option<usize> {
    gaps_between(tree).find_map(|(start, end)| room.place(start, end.min(below), busy, true))
}

#[cfg(test)]
mod tests {
    use super::super::PAGE_SIZE;
    use super::super::gaps::LOOKS;
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
    fn a_full_lower_part_falls_back_to_the_whole_window() {
        let mut map = VmaMap::new(TOP);
        map.insert(vma(WINDOW_START, TOP, Prot::READ));
        assert_eq!(map.find_room(room(0x1000), &never), Some(WINDOW_END - 0x1000));
        assert_eq!(map.find_room(room(WINDOW_END), &never), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        /// Whatever is mapped and unmapped, the gaps are what is not mapped or forgotten, and room is found where a look at every
        /// mapping finds it.
        #[test]
        fn gaps_are_what_is_not_mapped(
            operations in proptest::collection::vec((0u8..9, 1usize..9, any::<prop::sample::Index>()), 1..150),
        ) {
            let mut map = VmaMap::new(WINDOW_START + 200 * PAGE_SIZE);
            for (operation, pages, which) in operations {
                if operation == 0 {
                    map.gaps.forget();
                } else if operation < 5 {
                    let wanted = room(pages * PAGE_SIZE);
                    let [below, any] =
                        [map.top, WINDOW_END].map(|below| highest_place(&map.tree, wanted, below, &never));
                    let at = map.find_room(wanted, &never).expect("the window is never full");
                    prop_assert!(map.is_free(at, at + wanted.len));
                    prop_assert!(Some(at) == below.or(any) || gaps_between(&map.tree).count() > LOOKS);
                    let prot = if (at / PAGE_SIZE).is_multiple_of(2) { Prot::READ } else { Prot::WRITE };
                    map.insert(vma(at, at + wanted.len, prot));
                } else if map.count() > 0 {
                    let (start, end) = ranges(&map)[which.index(map.count())];
                    let start = start + (end - start) / PAGE_SIZE / 3 * PAGE_SIZE;
                    map.take(start, (start + pages * PAGE_SIZE).min(WINDOW_END), &mut Vec::new());
                }
                prop_assert_eq!(map.iter().map(Vma::len).sum::<usize>(), map.mapped_bytes().0);
                let mut between = Vec::new();
                let mut at = WINDOW_START;
                for (start, end) in ranges(&map).into_iter().chain([(WINDOW_END, WINDOW_END)]) {
                    if at < start {
                        between.push((at, start));
                    }
                    at = end;
                }
                let known = map.gaps.ascending();
                prop_assert!(known == between || known.is_empty() && !(1..5).contains(&operation));
            }
        }
    }
}
