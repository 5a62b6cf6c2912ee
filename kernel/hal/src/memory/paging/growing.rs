// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Large pages that get their content little by little: of memory that is barely touched most is never zeroed.
//!
//! A block that grows is one large page from its first touch on, and the table's as such. Its entry leads to a table that
//! shows the 4 KiB parts that are filled, each at its place in the page. When all are, the entry becomes the large page's; no
//! translation that a CPU has becomes false by that, so nobody flushes. All parts have the same rights, and none is ever
//! removed alone: who wants to change a part completes the page, and splits it.
//!
//! The ledger's word for the frame of the table says what page that is and how far it has grown. It has a lock bit, for the
//! time of one step; a step never waits.

use core::sync::atomic::{AtomicU64, Ordering};

use super::entry::{ADDRESS, DIRTY, LARGE, PRESENT, USER, WRITABLE, flags_of, index, is_table, program_leaf};
use super::retired::Content;
use super::tables::{Table, descend, free_table, table};
use super::{MapError, PROGRAM_HALF, Page, PageFlags, PageSize, PageTable, bytes_of, slots};
use crate::cpu;
use crate::cpu::percpu;
use crate::memory::frames::ledger;
use crate::memory::layout::PAGE_SIZE;
use crate::memory::phys;

/// Software bit of an entry for a block of 2 MiB: the block grows.
pub(super) const GROWING: u64 = 1 << 11;

/// Parts of a block.
const PARTS: usize = 512;
/// Parts that the second touch fills, those around it.
const AROUND_PARTS: usize = 16;
/// Parts filled in one step from the third touch on. Who waits for the address space waits for one step.
const STEP_PARTS: usize = 64;

/// How far a block has grown: the bits of the word below the page's address.
#[derive(Clone, Copy)]
struct Progress(u64);

impl Progress {
    const LOCKED: u64 = 1;
    /// There has been a second touch.
    const SPREAD: u64 = 2;
    /// The number of the part that was touched first.
    const FIRST_AT: u32 = 2;
    /// All parts with lower numbers are filled, shown or not.
    const FILLED_AT: u32 = 11;
    const ADDRESS: u64 = !((2 << 20) - 1);

    fn new(page: u64, first: usize) -> Self {
        Self(page | (first as u64) << Self::FIRST_AT)
    }

    fn page(self) -> u64 {
        self.0 & Self::ADDRESS
    }

    fn first(self) -> usize {
        (self.0 >> Self::FIRST_AT) as usize & (PARTS - 1)
    }

    fn filled(self) -> usize {
        (self.0 >> Self::FILLED_AT) as usize & (PARTS - 1)
    }

    fn is(self, bit: u64) -> bool {
        self.0 & bit != 0
    }

    fn with_filled(self, filled: usize) -> Self {
        let others = self.0 & !(((PARTS - 1) as u64) << Self::FILLED_AT);
        Self(others | (filled as u64) << Self::FILLED_AT)
    }
}

/// What came of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The address is not in a block that grows.
    None,
    /// There are more steps to go.
    Partly,
    /// The page at the address is there.
    There,
}

/// Whether an entry for a block of 2 MiB is that of one that grows.
pub(super) fn is_growing(entry: u64) -> bool {
    entry & (PRESENT | LARGE | GROWING) == PRESENT | GROWING
}

/// Whether an entry for a block of 2 MiB is that of a table, and of none that grows.
pub(super) fn is_finished_table(entry: u64) -> bool {
    entry & (PRESENT | LARGE | GROWING) == PRESENT
}

/// Fills the parts of a range that nobody has seen, and tells them.
///
/// # Safety
/// `parts` is the table of a block that grows, `page` its page's address, and the caller has its lock.
unsafe fn fill(parts: &Table, page: u64, range: core::ops::Range<usize>, mut filled: impl FnMut(usize)) {
    let mut part = range.start;
    while part < range.end {
        let from = part;
        let unseen = parts[from..range.end].iter().take_while(|entry| entry.load(Ordering::Relaxed) == 0);
        part += unseen.count();
        if from < part {
            let (pa, len) = (page + (from * PAGE_SIZE) as u64, (part - from) * PAGE_SIZE);
            // SAFETY: the page is the table's, and no CPU reaches these parts, since their entries are empty and stay so
            // while the caller has the lock.
            unsafe { phys::zero(pa, len) };
            (from..part).for_each(&mut filled);
        }
        part += 1;
    }
}

impl PageTable {
    /// Maps the part at `va` of a large page, which the caller has filled, and makes the page one that grows. It is the table's
    /// from then on; callers may race, and the loser gets its page back with [`MapError::AlreadyMapped`].
    ///
    /// # Panics
    /// If the page is not of 2 MiB or was taken out of another table, or the address not that of a page in the program's half.
    pub fn map_part<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        assert!(va.is_multiple_of(PAGE_SIZE) && va < PROGRAM_HALF, "no place for a page: {va:#x}");
        assert!(page.size() == PageSize::Size2M && page.phys() != 0, "only pages of 2 MiB grow");
        self.check_origin(&page);
        percpu::count_page_table_change();
        match self.begin_growth(va, page.phys(), flags) {
            Ok(()) => {
                page.into_bits(&mut PageFlags::empty());
                Ok(())
            }
            Err(error) => Err((error, page)),
        }
    }

    fn begin_growth(&self, va: usize, page: u64, flags: PageFlags) -> Result<(), MapError> {
        let mut current = self.root();
        for level in [3, 2] {
            current = descend(&current[index(va, level)], || self.new_table())?;
        }
        let entry = &current[index(va, 1)];
        if entry.load(Ordering::Relaxed) != 0 {
            return Err(MapError::AlreadyMapped);
        }
        let below = self.new_table()?;
        let part = index(va, 0);
        let part_pa = page + (part * PAGE_SIZE) as u64;
        table(below)[part].store(program_leaf(part_pa, PageSize::Size4K, flags), Ordering::Relaxed);
        ledger::users(below).store(Progress::new(page, part).0, Ordering::Relaxed);
        let growing = below | PRESENT | WRITABLE | USER | GROWING;
        entry.compare_exchange(0, growing, Ordering::AcqRel, Ordering::Relaxed).map(drop).map_err(|_| {
            // SAFETY: made above, and never linked.
            unsafe { free_table(below) };
            MapError::AlreadyMapped
        })
    }

    /// Fills a part of the page at `va` if it grows: for the second touch the parts around it, otherwise (and if `whole`) some
    /// that are missing. Callers may race. The caller excludes that pages are removed or changed.
    pub fn grow(&self, va: usize, whole: bool) -> Growth {
        let Some(slot) = self.block_entry(va) else { return Growth::None };
        let entry = slot.load(Ordering::Acquire);
        if !is_growing(entry) {
            return Growth::None;
        }
        let word = ledger::users(entry & ADDRESS);
        let before = Progress(word.load(Ordering::Relaxed));
        // If the entry still is the same, what was read was the word of this table. The address in it is of a page that only
        // this table has, so that as long as the word does not change it is that of this table.
        if slot.load(Ordering::Acquire) != entry || before.is(Progress::LOCKED) {
            cpu::relax();
            return Growth::Partly;
        }
        let locked = before.0 | Progress::LOCKED;
        if word.compare_exchange(before.0, locked, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return Growth::Partly;
        }
        // SAFETY: locked above; the page is that of the word.
        let (next, growth) = unsafe { self.grow_locked(va, slot, before, whole) };
        word.store(next.0, Ordering::Release);
        if next.0 == 0 {
            self.retire(entry & ADDRESS, Content::Arbitrary);
        }
        growth
    }

    /// One step; the new word is 0 if the page is complete.
    ///
    /// # Safety
    /// The slot is that of a block that grows, `at` what its word was, and the caller has locked it.
    unsafe fn grow_locked(
        &self,
        va: usize,
        slot: &AtomicU64,
        at: Progress,
        whole: bool,
    ) -> (Progress, Growth) {
        let parts = table(slot.load(Ordering::Relaxed));
        let rights = parts[at.first()].load(Ordering::Relaxed) & !(ADDRESS | DIRTY);
        let spread = Progress(at.0 | Progress::SPREAD);
        if !whole && !at.is(Progress::SPREAD) {
            let first = index(va, 0) & !(AROUND_PARTS - 1);
            let show = |part: usize| {
                let pa = at.page() + (part * PAGE_SIZE) as u64;
                parts[part].store(pa | rights, Ordering::Release);
            };
            // SAFETY: as the caller says.
            unsafe { fill(parts, at.page(), first..first + AROUND_PARTS, show) };
            return (spread, Growth::There);
        }
        let end = at.filled() + STEP_PARTS;
        // SAFETY: as the caller says.
        unsafe { fill(parts, at.page(), at.filled()..end, |_| {}) };
        if end < PARTS {
            return (spread.with_filled(end), Growth::Partly);
        }
        slot.store(at.page() | rights | LARGE, Ordering::Release);
        (Progress(0), Growth::There)
    }

    /// The first block of 2 MiB in a range whose page grows. The caller excludes that pages are removed meanwhile.
    pub fn next_growing(&self, start: usize, end: usize) -> Option<usize> {
        next_growing(self.root(), 3, 0, (start, end))
    }

    /// Makes the page at `va` a large one if it is one that grows. The caller excludes that pages are removed or changed.
    pub fn complete(&self, va: usize) {
        while self.grow(va, true) == Growth::Partly {}
    }

    /// The page of 2 MiB around `va` if there is one: physical address and flags. It is a whole one then. The caller excludes
    /// that pages are removed or changed.
    pub fn large(&self, va: usize) -> Option<(u64, PageFlags)> {
        let slot = self.block_entry(va)?;
        if is_growing(slot.load(Ordering::Acquire)) {
            self.complete(va);
        }
        let entry = slot.load(Ordering::Acquire);
        (entry != 0 && !is_table(entry, 1)).then(|| (entry & ADDRESS, flags_of(entry)))
    }

    /// The entry for the 2 MiB block around `va`, if there is a table for it.
    fn block_entry(&self, va: usize) -> Option<&'static AtomicU64> {
        Some(&self.directory(va)?[index(va, 1)])
    }

    /// The table with that entry.
    pub(super) fn directory(&self, va: usize) -> Option<&'static Table> {
        let mut current = self.root();
        for level in [3, 2] {
            let entry = current[index(va, level)].load(Ordering::Acquire);
            if !is_table(entry, level) {
                return None;
            }
            current = table(entry);
        }
        Some(current)
    }

    /// Takes out a block that grows: the bits of its page's entry, which is in no table any more. The caller excludes that it
    /// grows meanwhile.
    pub(super) fn take_growing(&self, slot: &AtomicU64) -> u64 {
        let entry = slot.swap(0, Ordering::AcqRel);
        let at = Progress(ledger::users(entry & ADDRESS).swap(0, Ordering::Relaxed));
        // Of a block that has been touched once this is the only entry.
        let rights = table(entry)[at.first()].swap(0, Ordering::Relaxed) & !(ADDRESS | DIRTY);
        let content = if at.is(Progress::SPREAD) { Content::Arbitrary } else { Content::Zeros };
        self.retire(entry & ADDRESS, content);
        at.page() | rights | LARGE
    }
}

fn next_growing(current: &'static Table, level: usize, base: usize, range: (usize, usize)) -> Option<usize> {
    slots(base, bytes_of(level), range.0, range.1).find_map(|(slot, va)| {
        let entry = current[slot].load(Ordering::Acquire);
        match level {
            1 => is_growing(entry).then_some(va),
            _ if is_table(entry, level) => next_growing(table(entry), level - 1, va, range),
            _ => None,
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    extern crate std;

    use alloc::vec;
    use alloc::vec::Vec;
    use core::sync::atomic::AtomicUsize;
    use std::sync::{Barrier, RwLock};

    use spin::Once;

    use super::super::tables::new_table;
    use super::super::{BlockState, Place};
    use super::*;
    use crate::memory::frames::{self, Block, FrameSource, host_arena, host_read, host_write};
    use crate::memory::tlb;

    const LARGE_BYTES: usize = PARTS * PAGE_SIZE;
    pub(in super::super) const AT: usize = 0x1234_0000_0000;
    const RW: PageFlags = PageFlags::READ.union(PageFlags::WRITE);

    /// Frames for tables, one after the other.
    struct Tables;

    impl FrameSource for Tables {
        fn alloc(&self, _: u8) -> Option<Block> {
            static ARENA: Once<u64> = Once::new();
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            let base = *ARENA.call_once(|| host_arena(64 << 20));
            Block::claim(base + (NEXT.fetch_add(1, Ordering::Relaxed) * PAGE_SIZE) as u64, 0)
        }

        fn alloc_spare(&self, order: u8) -> Option<Block> {
            self.alloc(order)
        }

        fn has_spare(&self, _: usize) -> bool {
            true
        }

        fn free(&self, block: Block) {
            block.release();
        }

        fn split(&self, _: u64, _: u8) {}
    }

    pub(in super::super) fn set_frames() {
        frames::set_source(&Tables);
    }

    fn empty() -> PageTable {
        set_frames();
        PageTable::new(table(new_table().expect("a frame")), 1)
    }

    #[test]
    fn a_directory_goes_with_all_that_lies_below_it() {
        const BELOW_DIRECTORY: usize = 512 * LARGE_BYTES;
        let table = empty();
        for (start, len) in [(0, BELOW_DIRECTORY), (LARGE_BYTES, BELOW_DIRECTORY - LARGE_BYTES)] {
            let page = Page::from(Block::claim(host_arena(LARGE_BYTES), 9).expect("free"));
            assert!(table.map(AT + LARGE_BYTES, page, RW).is_ok());
            let mut removed = 0;
            assert_eq!(table.unmap(AT + start, len, &mut |_, _, _| removed += 1), Ok(()));
            assert_eq!((removed, table.directory(AT).is_some()), (1, start > 0));
        }
    }

    /// A large page whose bytes are not 0, but for a part.
    fn dirty_page(part: usize) -> Page {
        let block = Block::claim(host_arena(LARGE_BYTES), 9).expect("free");
        block.write(0, &[0xaa; LARGE_BYTES]);
        block.zero(part * PAGE_SIZE, PAGE_SIZE);
        Page::from(block)
    }

    fn present(table: &PageTable) -> usize {
        (0..PARTS).filter(|part| table.lookup(AT + part * PAGE_SIZE).is_some()).count()
    }

    fn byte(table: &PageTable, offset: usize) -> u8 {
        let va = AT + offset;
        let (pa, size, _) = table.lookup(va).expect("a page");
        let mut read = [0];
        host_read(pa + (va & (size.bytes() - 1)) as u64, &mut read);
        read[0]
    }

    #[test]
    fn a_page_grows_from_one_part_to_some_to_all() {
        let table = empty();
        assert_eq!((table.block(AT), table.grow(AT, false)), (BlockState::Empty, Growth::None));
        assert_eq!(table.map_part(AT + 7 * PAGE_SIZE, dirty_page(7), RW), Ok(()));
        assert_eq!((table.block(AT), present(&table)), (BlockState::Growing, 1));
        assert_eq!(table.grow(AT + 100 * PAGE_SIZE, false), Growth::There);
        assert_eq!(present(&table), 1 + AROUND_PARTS);
        let small = Page::from(Block::claim(host_arena(PAGE_SIZE), 0).expect("free"));
        assert!(table.map(AT, small, RW).is_err(), "every place is taken");
        let steps = (0..).take_while(|_| table.grow(AT, false) == Growth::Partly).count();
        assert_eq!(steps, PARTS / STEP_PARTS - 1);
        assert_eq!((table.block(AT), table.grow(AT, false)), (BlockState::Taken, Growth::None));
        assert_eq!(table.lookup(AT).map(|(_, size, flags)| (size, flags)), Some((PageSize::Size2M, RW)));
        assert!((0..PARTS).all(|part| byte(&table, part * PAGE_SIZE + 5) == 0));
    }

    #[test]
    fn a_place_is_what_lookup_and_block_say() {
        let table = empty();
        let place = |offset: usize| {
            let page = table.lookup(AT + offset).map(|(_, _, flags)| Place::Present(flags));
            let expected = page.unwrap_or_else(|| Place::Absent(table.block(AT + offset)));
            assert_eq!(table.place(AT + offset), expected);
            expected
        };
        assert_eq!(place(0), Place::Absent(BlockState::Empty));
        assert_eq!(table.map_part(AT + 3 * PAGE_SIZE, dirty_page(3), RW), Ok(()));
        assert_eq!(place(3 * PAGE_SIZE), Place::Present(RW));
        assert_eq!(place(4 * PAGE_SIZE), Place::Absent(BlockState::Growing));
        assert_eq!(place(LARGE_BYTES), Place::Absent(BlockState::Empty));
        table.complete(AT);
        assert_eq!(place(4 * PAGE_SIZE), Place::Present(RW));
        let small = Page::from(Block::claim(host_arena(PAGE_SIZE), 0).expect("free"));
        assert_eq!(table.map(AT + LARGE_BYTES, small, PageFlags::READ), Ok(()));
        assert_eq!(place(LARGE_BYTES), Place::Present(PageFlags::READ));
        assert_eq!(place(LARGE_BYTES + PAGE_SIZE), Place::Absent(BlockState::Taken));
    }

    #[test]
    fn parts_get_the_rights_of_the_others() {
        let table = empty();
        assert_eq!(table.map_part(AT, dirty_page(0), RW), Ok(()));
        assert_eq!(table.protect(AT, LARGE_BYTES, PageFlags::READ), Ok(()));
        assert_eq!(table.block(AT), BlockState::Growing);
        table.grow(AT + 40 * PAGE_SIZE, false);
        assert_eq!(table.lookup(AT + 40 * PAGE_SIZE).map(|found| found.2), Some(PageFlags::READ));
        assert_eq!(table.protect(AT, LARGE_BYTES, PageFlags::READ | PageFlags::EXEC), Ok(()));
        assert_eq!(table.lookup(AT).map(|found| found.1), Some(PageSize::Size2M), "code does not grow");
    }

    #[test]
    fn small_pages_are_found_wherever_they_are() {
        let table = empty();
        let arena = host_arena(8 * PAGE_SIZE);
        let places = [0, 7, 8, 9, 63, 64, 300, 511];
        for (number, place) in places.iter().enumerate() {
            let page = Page::from(Block::claim(arena + (number * PAGE_SIZE) as u64, 0).expect("free"));
            assert_eq!(table.map(AT + place * PAGE_SIZE, page, RW), Ok(()));
        }
        assert_eq!(table.protect(AT + PAGE_SIZE, 70 * PAGE_SIZE, PageFlags::READ), Ok(()));
        let rights = places.map(|place| table.lookup(AT + place * PAGE_SIZE).map(|found| found.2 == RW));
        let expected = [true, false, false, false, false, false, true, true].map(Some);
        assert_eq!(rights, expected);
        let has_some =
            |first: usize, pages: usize| table.may_have_pages(AT + first * PAGE_SIZE, pages * PAGE_SIZE);
        assert!(has_some(0, 1) && has_some(1, 7) && has_some(290, 222) && has_some(511, 513));
        assert!(!has_some(1, 6) && !has_some(10, 53) && !has_some(301, 210) && !has_some(512, 512));
        let removed = |first: usize, pages: usize| {
            let mut removed = Vec::new();
            let mut take = |va: usize, page, _| {
                removed.push((va - AT) / PAGE_SIZE);
                let _: Page<_> = page;
            };
            assert_eq!(table.unmap(AT + first * PAGE_SIZE, pages * PAGE_SIZE, &mut take), Ok(()));
            removed
        };
        assert_eq!(removed(1, 8), [7, 8]);
        assert_eq!(removed(9, 1), [9]);
        assert_eq!(removed(10, 400), [63, 64, 300]);
        assert_eq!(removed(0, 512), [0, 511]);
        assert_eq!(present(&table), 0);
    }

    #[test]
    fn what_is_removed_is_the_whole_page() {
        let table = empty();
        let page = dirty_page(3);
        let pa = page.phys();
        assert_eq!(table.map_part(AT + 3 * PAGE_SIZE, page, RW), Ok(()));
        assert!(table.may_have_pages(AT + 9 * PAGE_SIZE, PAGE_SIZE), "the page grows");
        let mut removed = Vec::new();
        let mut take = |va, page: Page<_>, _| removed.push((va, page.phys(), page.size()));
        assert_eq!(table.unmap(AT - PAGE_SIZE, LARGE_BYTES + PAGE_SIZE, &mut take), Ok(()));
        assert_eq!((removed, table.block(AT)), (vec![(AT, pa, PageSize::Size2M)], BlockState::Empty));
        // Of a part that is removed the rest is there.
        assert_eq!(table.map_part(AT + 3 * PAGE_SIZE, dirty_page(3), RW), Ok(()));
        let mut count = 0;
        assert_eq!(table.unmap(AT + PAGE_SIZE, 2 * PAGE_SIZE, &mut |_, _, _| count += 1), Ok(()));
        assert_eq!((count, present(&table)), (2, PARTS - 2));
        assert_eq!(byte(&table, 9 * PAGE_SIZE), 0);
    }

    #[test]
    fn a_table_of_zeros_is_used_again_when_every_cpu_has_flushed() {
        let table = empty();
        let count = || table.retired.lock().count();
        let touch = |pages: usize| {
            assert_eq!(table.map_part(AT + 9 * PAGE_SIZE, dirty_page(9), RW), Ok(()));
            let shown = table.block_entry(AT).expect("a directory").load(Ordering::Relaxed) & ADDRESS;
            for _ in 1..pages {
                table.grow(AT + 40 * PAGE_SIZE, false);
            }
            assert_eq!(present(&table), if pages == 1 { 1 } else { 1 + AROUND_PARTS });
            assert_eq!(table.unmap(AT, LARGE_BYTES, &mut |_, _, _| {}), Ok(()));
            shown
        };
        let first = touch(1);
        assert_eq!(count(), 1);
        let second = touch(1);
        assert!(first != second && count() == 2, "some CPU may walk the first one");
        tlb::kick(&table);
        assert_eq!((touch(1), count()), (first, 2));
        tlb::kick(&table);
        // That of a block that was touched twice is not used again, whatever is behind it.
        assert_eq!((touch(2), count()), (second, 2));
        tlb::kick(&table);
        assert_eq!((touch(1), count()), (first, 1));
        tlb::kick(&table);
        table.give_tables_back();
        assert_eq!(count(), 0);
        // Many come before a flush, and in the end few are kept.
        for _ in 0..150 {
            let page = Page::from(Block::claim(host_arena(PAGE_SIZE), 0).expect("free"));
            assert!(table.map(AT, page, RW).is_ok());
            let mut removed = 0;
            assert_eq!(table.unmap(AT, LARGE_BYTES, &mut |_, _, _| removed += 1), Ok(()));
            assert_eq!(removed, 1);
        }
        tlb::kick(&table);
        for _ in 0..200 {
            table.retire(new_table().expect("a frame"), Content::Zeros);
            tlb::kick(&table);
        }
        assert_eq!(count(), 64);
    }

    /// Four CPUs touch the same parts at the same time.
    #[test]
    fn nothing_that_was_written_is_filled_again() {
        const THREADS: usize = 4;
        let table = empty();
        let (lock, start) = (RwLock::new(()), Barrier::new(THREADS));
        let touch = |part: usize, thread: usize| {
            let va = AT + part * PAGE_SIZE;
            while table.lookup(va).is_none() {
                let _no_change = lock.read().expect("lock");
                let _ = table.grow(va, false);
            }
            let offset = part * PAGE_SIZE + PAGE_SIZE - 1 - thread;
            assert_eq!(byte(&table, offset), 0);
            let (pa, size, _) = table.lookup(va).expect("a page");
            host_write(pa + ((va + PAGE_SIZE - 1 - thread) & (size.bytes() - 1)) as u64, &[1]);
        };
        for round in 0..200 {
            assert_eq!(table.map_part(AT, dirty_page(0), RW), Ok(()));
            std::thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (touch, start) = (&touch, &start);
                    scope.spawn(move || {
                        start.wait();
                        (0..PARTS).for_each(|step| touch((step * 37 + round) % PARTS, thread));
                    });
                }
            });
            for part in 0..PARTS {
                let written =
                    (0..THREADS).all(|thread| byte(&table, (part + 1) * PAGE_SIZE - 1 - thread) == 1);
                assert!(written, "round {round}, part {part}");
            }
            assert_eq!(table.lookup(AT).map(|found| found.1), Some(PageSize::Size2M));
            let _changes = lock.write().expect("lock");
            assert_eq!(table.unmap(AT, LARGE_BYTES, &mut |_, _, _| {}), Ok(()));
        }
    }
}
