// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The mappings of a window, by address: finding, cutting, merging, and finding room for new ones.
//!
//! Neighbours that are alike are always one mapping. Room for a new one is as high as possible below the top, as on Linux.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::room::{Busy, Room};
use super::tree::{First, MappingTree};
use super::vma::{Vma, VmaFlags};
use super::{PAGE_SIZE, WINDOW_END, WINDOW_START};

/// Gaps that are looked at as long as there may be one that needs no look: a larger one.
const LOOKS: usize = 32;

/// The mappings of a window.
pub(super) struct VmaMap {
    tree: MappingTree,
    mapped_bytes: usize,
    mapped_peak_bytes: usize,
    locked_bytes: usize,
    /// Bytes of data from when somebody asked for them first; [`UNCOUNTED`] before.
    data_bytes: AtomicUsize,
    top: usize,
    full: Full,
}

/// Nobody has asked how much data there is: it is not counted, which would be work for every mapping.
const UNCOUNTED: usize = usize::MAX;

/// From an address up to the top no gap of so many bytes is free: new mappings mostly go where the last one has gone.
struct Full {
    from: usize,
    gap_bytes: usize,
    /// Holds as long as nothing that was busy has become free.
    releases: u64,
}

impl Full {
    /// Nothing is known.
    const NOWHERE: Self = Self { from: usize::MAX, gap_bytes: usize::MAX, releases: 0 };
}

impl VmaMap {
    /// No mappings; new ones go below `top` if there is room.
    pub(super) fn new(top: usize) -> Self {
        Self {
            tree: MappingTree::new(),
            mapped_bytes: 0,
            mapped_peak_bytes: 0,
            locked_bytes: 0,
            data_bytes: AtomicUsize::new(UNCOUNTED),
            top,
            full: Full::NOWHERE,
        }
    }

    /// No mappings, and new ones go where they go here.
    pub(super) fn empty_copy(&self) -> Self {
        Self::new(self.top)
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

    /// Bytes of data.
    pub(super) fn data_bytes(&self) -> usize {
        let counted = self.data_bytes.load(Ordering::Relaxed);
        if counted != UNCOUNTED {
            return counted;
        }
        let bytes = self.iter().map(Vma::data_bytes).sum();
        self.data_bytes.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Data is not counted any more until somebody asks again.
    pub(super) fn forget_data(&mut self) {
        *self.data_bytes.get_mut() = UNCOUNTED;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Vma> {
        self.tree.from(0)
    }

    /// The mapping that contains `addr`.
    pub(super) fn find(&self, addr: usize) -> Option<&Vma> {
        self.tree.first_above(addr).filter(|vma| vma.start <= addr)
    }

    /// The mappings that have a part in `start..end`, in order.
    pub(super) fn overlapping(&self, start: usize, end: usize) -> impl Iterator<Item = &Vma> {
        self.tree.between(start, end)
    }

    /// Whether nothing is mapped in `start..end`.
    pub(super) fn is_free(&self, start: usize, end: usize) -> bool {
        self.tree.first_above(start).is_none_or(|vma| vma.start >= end)
    }

    /// The end of the part of `start..end` that is mapped without a hole from `start` on, as far as `accept` agrees.
    pub(super) fn covered_until(
        &self,
        start: usize,
        end: usize,
        mut accept: impl FnMut(&Vma) -> bool,
    ) -> usize {
        let mut at = start;
        while at < end {
            let leaf = self.tree.leaf_above(at);
            if leaf.is_empty() {
                break;
            }
            for vma in leaf {
                if vma.start > at || !accept(vma) {
                    return at;
                }
                at = vma.end;
                if at >= end {
                    return end;
                }
            }
        }
        at.min(end)
    }

    /// Adds a mapping where nothing is mapped.
    #[inline(always)]
    pub(super) fn insert(&mut self, vma: Vma) {
        // Apart, since a mapping that is looked at there would be copied once more on its way.
        if *self.data_bytes.get_mut() == UNCOUNTED { self.put(vma) } else { self.put_counted(vma) }
    }

    #[cold]
    #[inline(never)]
    fn put_counted(&mut self, vma: Vma) {
        *self.data_bytes.get_mut() += vma.data_bytes();
        self.put(vma);
    }

    fn put(&mut self, vma: Vma) {
        debug_assert!(self.is_free(vma.start, vma.end));
        self.mapped_bytes += vma.len();
        self.locked_bytes += vma.locked_bytes();
        self.mapped_peak_bytes = self.mapped_peak_bytes.max(self.mapped_bytes);
        let Err(vma) = self.tree.insert_inside(vma) else { return };
        let (below, above) = self.tree.around(vma.start);
        let below = below.filter(|below| below.continues_in(&vma)).map(|below| below.start);
        let above = above.filter(|above| vma.continues_in(above)).map(|above| (above.start, above.end));
        match (below, above) {
            (None, None) => self.tree.insert(vma),
            (Some(below), None) => self.set_end(below, vma.end),
            (None, Some((above, _))) => {
                self.tree.change(above, |above| *above = Vma { end: above.end, ..vma });
            }
            (Some(below), Some((above, end))) => {
                self.tree.take_first(above, end, &mut None);
                self.set_end(below, end);
            }
        }
    }

    /// Moves the first part of a mapping in `start..end` out, cutting it if it sticks out.
    #[inline(always)]
    pub(super) fn take_first(&mut self, start: usize, end: usize) -> Option<Vma> {
        if end > self.full.from {
            self.full = Full::NOWHERE;
        }
        if start >= end {
            return None;
        }
        let mut first = None;
        match self.tree.take_first(start, end, &mut first) {
            First::None => return None,
            First::Taken => {}
            First::SticksOut(vma_start) => first = self.cut_out(vma_start, start, end),
        }
        if let Some(taken) = &first {
            self.mapped_bytes -= taken.len();
            self.locked_bytes -= taken.locked_bytes();
            if *self.data_bytes.get_mut() != UNCOUNTED {
                *self.data_bytes.get_mut() -= taken.data_bytes();
            }
        }
        first
    }

    /// Takes the part in `start..end` out of a mapping that sticks out.
    fn cut_out(&mut self, vma_start: usize, start: usize, end: usize) -> Option<Vma> {
        let cut = |vma: &mut Vma| {
            let upper = (end < vma.end).then(|| vma.split_off(end));
            if vma.start < start {
                return (vma.split_off(start), upper);
            }
            // What is above is all that stays.
            match upper {
                Some(upper) => (core::mem::replace(vma, upper), None),
                None => unreachable!("it sticks out at one end or the other"),
            }
        };
        let (taken, upper) = self.tree.change(vma_start, cut)?;
        if let Some(upper) = upper {
            self.tree.insert(upper);
        }
        Some(taken)
    }

    /// Changes all mappings in `start..end`, cutting those that stick out and joining what is alike afterwards.
    pub(super) fn update(&mut self, start: usize, end: usize, mut change: impl FnMut(&mut Vma)) {
        let mut at = start;
        while let Some(mut vma) = self.take_first(at, end) {
            at = vma.end;
            change(&mut vma);
            self.insert(vma);
        }
    }

    /// Gives all mappings in `start..end` the flags of a lock that `flags` says, or leaves them as they are.
    pub(super) fn lock(&mut self, start: usize, end: usize, flags: impl Fn(&Vma) -> Option<VmaFlags>) {
        self.update(start, end, |vma| {
            if let Some(flags) = flags(vma) {
                vma.flags.remove(VmaFlags::LOCKED | VmaFlags::LOCKED_ON_FAULT);
                vma.flags.insert(flags);
            }
        });
    }

    fn set_end(&mut self, start: usize, end: usize) {
        self.tree.change(start, |vma| vma.end = end);
    }

    /// Finds room below the top, or else anywhere: the highest, unless much is busy or more than [`LOOKS`] gaps are not
    /// aligned. `releases`: how often something busy has become free.
    pub(super) fn find_room(&mut self, room: Room, busy: Busy<'_>, releases: u64) -> Option<usize> {
        let is_full = room.len >= self.full.gap_bytes && self.full.releases == releases;
        let below = if is_full { self.full.from } else { self.top };
        let mut looks = Looks::default();
        let place = self.look_for(room, room.len, below, busy, &mut looks);
        if place.is_some() && (looks.count == 1 || room.align == PAGE_SIZE) {
            self.full = Full { from: looks.end, gap_bytes: room.len, releases };
        }
        place
            .or_else(|| self.find_any_room(room, self.top, busy))
            .or_else(|| self.find_any_room(room, WINDOW_END, busy))
    }

    #[cold]
    fn find_any_room(&self, room: Room, below: usize, busy: Busy<'_>) -> Option<usize> {
        // In a gap of so many bytes there is room however it is aligned.
        let sure_bytes = room.len.saturating_add(room.align - PAGE_SIZE);
        let look = |gap_bytes, limit| {
            self.look_for(room, gap_bytes, below, busy, &mut Looks { limit, ..Looks::default() })
        };
        look(room.len, Some(LOOKS)).or_else(|| look(sure_bytes, Some(LOOKS))).or_else(|| look(room.len, None))
    }

    /// Looks for room in gaps of `gap_bytes` or more; thoroughly unless the number of looks is limited.
    fn look_for(
        &self,
        room: Room,
        gap_bytes: usize,
        below: usize,
        busy: Busy<'_>,
        looks: &mut Looks,
    ) -> Option<usize> {
        self.tree.highest_gap(WINDOW_START, below, gap_bytes, &mut |start, end| {
            looks.count += 1;
            looks.end = end;
            match room.place(start, end, busy, looks.limit.is_none()) {
                None if looks.limit.is_none_or(|limit| looks.count < limit) => ControlFlow::Continue(()),
                place => ControlFlow::Break(place),
            }
        })
    }
}

/// Looks at gaps.
struct Looks {
    /// At how many.
    count: usize,
    /// Where the last one ends.
    end: usize,
    /// How many there may be.
    limit: Option<usize>,
}

impl Default for Looks {
    fn default() -> Self {
        Self { count: 0, end: 0, limit: Some(LOOKS) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::LARGE_BYTES;
    use super::super::vma::{Backing, Name, Prot, VmaFlags};
    use super::*;
    use alloc::vec::Vec;
    use core::cell::Cell;
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

    fn take_all(map: &mut VmaMap, start: usize, end: usize) {
        while map.take_first(start, end).is_some() {}
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
        take_all(&mut map, 0x10_2000, 0x10_3000);
        assert_eq!(ranges(&map), [(0x10_0000, 0x10_2000), (0x10_3000, 0x10_6000)]);
        assert_eq!(map.mapped_bytes(), (0x5000, 0x6000));
    }

    #[test]
    fn what_is_covered_ends_at_a_hole_or_at_what_is_not_accepted() {
        const PAGES: usize = 100;
        let page = |number: usize| 0x10_0000 + number * PAGE_SIZE;
        // Mappings of one page that do not join, so that there are many leaves.
        let prot = |number: usize| if number.is_multiple_of(2) { Prot::READ } else { Prot::WRITE };
        let mut map = VmaMap::new(TOP);
        (0..PAGES).for_each(|number| map.insert(vma(page(number), page(number + 1), prot(number))));
        assert_eq!(ranges(&map).len(), PAGES);
        for start in 0..PAGES {
            for end in start..=PAGES {
                assert_eq!(map.covered_until(page(start), page(end), |_| true), page(end));
            }
            let accepted = map.covered_until(page(start), page(PAGES), |vma| vma.start < page(70));
            assert_eq!(accepted, page(start.max(70)));
        }
        assert_eq!(map.covered_until(page(90), page(PAGES + 1), |_| true), page(PAGES));
        assert_eq!(map.covered_until(page(PAGES), page(PAGES + 1), |_| true), page(PAGES));
        take_all(&mut map, page(40), page(41));
        assert_eq!(map.covered_until(page(3), page(80), |_| true), page(40));
        assert_eq!(map.covered_until(page(40), page(80), |_| true), page(40));
        assert_eq!(map.covered_until(page(41), page(80), |_| true), page(80));
    }

    #[test]
    fn room_is_found_from_the_top_down_and_filled_again() {
        let mut map = VmaMap::new(TOP);
        let first = map.find_room(room(0x4000), &never, 0).expect("room");
        assert_eq!(first, TOP - 0x4000);
        map.insert(vma(first, first + 0x4000, Prot::READ));
        let second = map.find_room(room(0x1000), &never, 0).expect("room");
        assert_eq!(second, first - 0x1000);
        map.insert(vma(second, second + 0x1000, Prot::WRITE));
        take_all(&mut map, first + 0x1000, first + 0x3000);
        assert_eq!(map.find_room(room(0x2000), &never, 0), Some(first + 0x1000));
        assert_eq!(map.find_room(room(0x3000), &never, 0), Some(second - 0x3000));
    }

    #[test]
    fn room_keeps_clear_of_busy_ranges_and_honours_alignment() {
        let mut map = VmaMap::new(TOP);
        let busy =
            |start: usize, end: usize| (start < TOP && end > TOP - 0x10_0000).then_some(TOP - 0x10_0000);
        assert_eq!(map.find_room(room(0x1000), &busy, 0), Some(TOP - 0x10_1000));
        let aligned = Room { len: 0x30_0000, align: 0x20_0000, phase: 0x1000 };
        let at = map.find_room(aligned, &busy, 0).expect("room");
        assert_eq!(at % 0x20_0000, 0x1000);
        assert!(at + 0x30_0000 <= TOP - 0x10_0000);
    }

    #[test]
    fn a_full_lower_part_falls_back_to_the_whole_window() {
        let mut map = VmaMap::new(TOP);
        map.insert(vma(WINDOW_START, TOP, Prot::READ));
        assert_eq!(map.find_room(room(0x1000), &never, 0), Some(WINDOW_END - 0x1000));
        assert_eq!(map.find_room(room(WINDOW_END), &never, 0), None);
        let whole = Room { len: usize::MAX - (PAGE_SIZE - 1), align: LARGE_BYTES, phase: 0 };
        assert_eq!(map.find_room(whole, &never, 0), None, "more than there are addresses");
    }

    #[test]
    fn many_gaps_that_are_too_small_are_not_looked_at() {
        let mut map = VmaMap::new(WINDOW_END);
        let looks = Cell::new(0);
        let count = |_: usize, _: usize| {
            looks.set(looks.get() + 1);
            None
        };
        // Sixteen pages at the bottom, then gaps of two, and nothing on top.
        let page = |page: usize| WINDOW_START + page * PAGE_SIZE;
        for index in 0..10_000 {
            map.insert(vma(page(16 + 4 * index), page(18 + 4 * index), Prot::READ));
        }
        map.insert(vma(page(16 + 40_000), WINDOW_END, Prot::READ));
        assert_eq!(map.find_room(room(3 * PAGE_SIZE), &count, 0), Some(page(13)));
        assert_eq!(map.find_room(room(2 * PAGE_SIZE), &count, 0), Some(page(14 + 40_000)));
        assert!(looks.get() < 10);
        // Nor are many that are busy, unless there is no other.
        let busy = |start: usize, _: usize| {
            looks.set(looks.get() + 1);
            (start > page(100)).then_some(start)
        };
        looks.set(0);
        assert_eq!(map.find_room(room(5 * PAGE_SIZE), &busy, 0), Some(page(11)));
        assert!(looks.get() < 10);
        assert_eq!(map.find_room(room(2 * PAGE_SIZE), &busy, 0), Some(page(98)));
    }

    #[test]
    fn an_aligned_place_is_found_among_many_gaps_that_are_not() {
        let mut map = VmaMap::new(WINDOW_END);
        let looks = Cell::new(0);
        let count = |_: usize, _: usize| {
            looks.set(looks.get() + 1);
            None
        };
        let large = |index: usize| WINDOW_START.next_multiple_of(LARGE_BYTES) + index * LARGE_BYTES;
        map.insert(vma(WINDOW_START, large(1), Prot::READ));
        // Above room for three large pages, a thousand gaps of the size of one, none of them aligned.
        for index in 0..1000 {
            map.insert(vma(large(4 + 2 * index), large(5 + 2 * index) + PAGE_SIZE, Prot::READ));
        }
        map.insert(vma(large(2004), WINDOW_END, Prot::READ));
        let room = Room { len: LARGE_BYTES, align: LARGE_BYTES, phase: 0 };
        for index in 1..1000 {
            take_all(&mut map, large(4 + 2 * index), large(4 + 2 * index) + PAGE_SIZE);
        }
        looks.set(0);
        assert_eq!(map.find_room(room, &count, 0), Some(large(3)));
        assert!(looks.get() < 2 * LOOKS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        /// Whatever is mapped, unmapped and changed, each page has what a plain list of pages says, alike neighbours are one
        /// mapping, and room is found where a look at every page finds it.
        #[test]
        fn pages_are_what_was_mapped_last(
            operations in proptest::collection::vec(
                (0u8..9, 1usize..9, 0u32..4, any::<prop::sample::Index>()), 1..250),
        ) {
            const PAGES: usize = 300;
            let address = |page: usize| WINDOW_START + page * PAGE_SIZE;
            let mut map = VmaMap::new(address(PAGES));
            let mut pages = [None; PAGES];
            for (operation, len, align, which) in operations {
                if operation < 5 {
                    let align = PAGE_SIZE << align;
                    let wanted = Room { len: len * PAGE_SIZE, align, phase: (align / 2) & !(PAGE_SIZE - 1) };
                    let fits = |&page: &usize| {
                        address(page) & (align - 1) == wanted.phase
                            && pages[page..page + len].iter().all(Option::is_none)
                    };
                    let highest = (0..=PAGES - len).rev().find(fits);
                    let at = map.find_room(wanted, &never, 0).expect("the window is never full");
                    let page = (at - WINDOW_START) / PAGE_SIZE;
                    match highest {
                        None => prop_assert!(page >= PAGES),
                        Some(highest) => {
                            prop_assert!(page == highest || fits(&page) && map.count() > LOOKS);
                            let prot = if page.is_multiple_of(2) { Prot::READ } else { Prot::WRITE };
                            map.insert(vma(at, at + wanted.len, prot));
                            pages[page..page + len].fill(Some(prot));
                        }
                    }
                } else {
                    let page = which.index(PAGES - len);
                    let (start, end) = (address(page), address(page + len));
                    if operation < 7 {
                        take_all(&mut map, start, end);
                        pages[page..page + len].fill(None);
                    } else {
                        map.update(start, end, |vma| vma.prot = Prot::EXEC);
                        pages[page..page + len].iter_mut().flatten().for_each(|prot| *prot = Prot::EXEC);
                    }
                }
                for (page, prot) in pages.iter().enumerate() {
                    prop_assert_eq!(map.find(address(page)).map(|vma| vma.prot), *prot);
                }
                prop_assert!(map.iter().zip(map.iter().skip(1)).all(|(vma, next)| !vma.continues_in(next)));
                prop_assert_eq!(map.iter().count(), map.count());
                prop_assert_eq!(map.iter().map(Vma::len).sum::<usize>(), map.mapped_bytes().0);
                prop_assert_eq!(map.iter().map(Vma::data_bytes).sum::<usize>(), map.data_bytes());
            }
        }
    }
}
