// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page tables: in each the kernel's half, built once, and the window of one program.
//!
//! Entries are atomic words. [`PageTable::map`] installs them by compare-and-swap, so that CPUs which fault on
//! neighbouring pages do not wait for each other; removing and changing ranges is excluded by the caller (the address
//! space's lock). Table pages that a removal leaves empty are freed, or used again, once no CPU can walk them any more
//! ([`crate::memory::tlb`]).
//! Layout: AMD APM vol. 2, 5.3; Intel SDM vol. 3, 4.5.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::cpu::percpu;
use crate::memory::frames::Block;
use crate::memory::layout::PAGE_SIZE;
use crate::memory::tlb;
use crate::sync::{Rank, SpinLock};
use crate::threads::link::AtomicRef;
use entry::{ADDRESS, DIRTY, LENT, SHARED, WRITABLE, flags_of, index, is_table, program_leaf};
use growing::{is_finished_table, is_growing};
use retired::{Content, Retired};
use tables::{Table, free_table, new_table, phys_of, set_empty, split, table, table_for};

mod entry;
mod groups;
mod growing;
mod kernel_half;
mod lending;
mod page;
mod pool;
mod retired;
mod sharing;
mod stale;
mod tables;

pub use entry::{PageFlags, PageSize};
pub use growing::Growth;
#[cfg(target_os = "none")]
pub(crate) use kernel_half::ROOT;
pub(crate) use kernel_half::map_device;
pub use kernel_half::root;
#[cfg(target_os = "none")]
pub use kernel_half::{activate, build};
pub use page::{Fresh, Page, Unmapped};
#[cfg(target_os = "none")]
pub(crate) use pool::give_tables_back;
pub use pool::{OwnedPageTable, Switchable, take};
pub use stale::Stale;

/// Why an entry could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapError {
    /// No memory for a table page.
    NoMemory,
    /// The place is taken by a page or, for a large page, by a table.
    AlreadyMapped,
}

/// What is installed for a block of 2 MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Nothing: a large page fits.
    Empty,
    /// A large page that grows.
    Growing,
    /// A large page or a table, perhaps an empty one.
    Taken,
}

/// What one way from the root finds at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A page with these flags.
    Present(PageFlags),
    /// No page; and what is installed for the block of 2 MiB around it.
    Absent(BlockState),
}

/// Which page table; 0 is none.
pub(crate) type TableNumber = u32;

/// A page table. Its kernel's half is the same as in all others; its low half belongs to whoever has the
/// [`OwnedPageTable`]. Page tables live for ever and are used again (decision 0004), so a CPU may have one loaded whose owner
/// is gone.
pub struct PageTable {
    root: &'static Table,
    /// Physical address of the top-level table, for CR3.
    root_pa: u64,
    number: TableNumber,
    retired: SpinLock<Retired>,
    /// The table that was made before.
    previous: AtomicRef<PageTable>,
    /// The next one that nobody owns, if nobody owns this.
    next_free: AtomicRef<PageTable>,
}

impl PageTable {
    fn new(root: &'static Table, number: TableNumber) -> Self {
        Self {
            root,
            root_pa: phys_of(root),
            number,
            retired: SpinLock::ranked(Rank::PageTables, Retired::new(number)),
            previous: AtomicRef::none(),
            next_free: AtomicRef::none(),
        }
    }

    /// Where [`crate::threads::context`] finds the number and CR3.
    pub(crate) const NUMBER_AT: usize = core::mem::offset_of!(Self, number);
    pub(crate) const ROOT_AT: usize = core::mem::offset_of!(Self, root_pa);

    #[cfg(target_os = "none")]
    pub(crate) fn root_pa(&self) -> u64 {
        self.root_pa
    }

    pub(crate) fn number(&self) -> TableNumber {
        self.number
    }

    fn root(&self) -> &'static Table {
        self.root
    }

    /// Maps one page, whose memory is the table's from then on; callers may race, and the loser gets its page back with
    /// [`MapError::AlreadyMapped`].
    ///
    /// # Panics
    /// If the address is not aligned to the page's size or not in the program's half, or the page was taken out of another
    /// table.
    pub fn map<S>(&self, va: usize, page: Page<S>, mut flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        let size = page.size();
        assert!(va.is_multiple_of(size.bytes()) && va < PROGRAM_HALF, "no place for a page: {va:#x}");
        percpu::count_page_table_change();
        let from = self.check_origin(&page);
        let bits = page.into_bits(&mut flags);
        self.install(va, program_leaf(bits, size, flags), size)
            // SAFETY: made above, and not installed.
            .map_err(|error| (error, unsafe { Page::from_entry(bits, size, from) }))
    }

    /// The table that a page was taken out of: this one or none, since some CPU may still find it there.
    fn check_origin<S>(&self, page: &Page<S>) -> TableNumber {
        let from = page.table();
        assert!(from == 0 || from == self.number, "a page goes from one table to another by a flush");
        from
    }

    fn install(&self, va: usize, entry: u64, size: PageSize) -> Result<(), MapError> {
        let new = || self.new_table();
        if size != PageSize::Size4K {
            return set_empty(&table_for(self.root(), va, size, new)?[index(va, size.level())], entry);
        }
        let (table, slot) = (table_for(self.root(), va, PageSize::Size4K, new)?, index(va, 0));
        groups::note(table, slot);
        set_empty(&table[slot], entry)
    }

    /// Finds the page at `va`: physical address of the page's first byte, size, flags.
    pub fn lookup(&self, va: usize) -> Option<(u64, PageSize, PageFlags)> {
        let mut current = self.root();
        for level in (0..4).rev() {
            let entry = current[index(va, level)].load(Ordering::Acquire);
            if is_table(entry, level) {
                current = table(entry);
            } else if entry == 0 {
                return None;
            } else {
                return Some((entry & ADDRESS, PageSize::of_level(level), flags_of(entry)));
            }
        }
        None
    }

    /// What [`PageTable::lookup`] and [`PageTable::block`] say about an address, with one look.
    #[inline]
    pub fn place(&self, va: usize) -> Place {
        let mut current = self.root();
        for level in [3, 2] {
            match current[index(va, level)].load(Ordering::Acquire) {
                0 => return Place::Absent(BlockState::Empty),
                entry if is_table(entry, level) => current = table(entry),
                entry => return Place::Present(flags_of(entry)),
            }
        }
        let entry = current[index(va, 1)].load(Ordering::Acquire);
        if entry == 0 {
            return Place::Absent(BlockState::Empty);
        }
        if !is_table(entry, 1) {
            return Place::Present(flags_of(entry));
        }
        match table(entry)[index(va, 0)].load(Ordering::Acquire) {
            0 if is_growing(entry) => Place::Absent(BlockState::Growing),
            0 => Place::Absent(BlockState::Taken),
            page => Place::Present(flags_of(page)),
        }
    }

    /// Copies bytes at an offset of the page that begins at `va` to the same place in a block of its size; false if no page of
    /// that size is there. The caller excludes that the page is removed meanwhile.
    ///
    /// # Panics
    /// If the range is not in the block.
    pub fn copy_page(&self, va: usize, offset: usize, len: usize, to: &Block) -> bool {
        let Some((pa, size, _)) = self.lookup(va) else { return false };
        if size.order() != to.order() || !va.is_multiple_of(size.bytes()) {
            return false;
        }
        // SAFETY: the page is as large as the block, and the table has it, since the caller keeps it there.
        unsafe { to.fill(offset, pa + offset as u64, len) };
        true
    }

    /// What is installed for the 2 MiB block around `va`.
    pub fn block(&self, va: usize) -> BlockState {
        let mut current = self.root();
        for level in [3, 2] {
            match current[index(va, level)].load(Ordering::Acquire) {
                0 => return BlockState::Empty,
                entry if is_table(entry, level) => current = table(entry),
                _ => return BlockState::Taken,
            }
        }
        match current[index(va, 1)].load(Ordering::Acquire) {
            0 => BlockState::Empty,
            entry if is_growing(entry) => BlockState::Growing,
            _ => BlockState::Taken,
        }
    }

    /// Whether a range may have pages: false is sure, if the caller excludes that pages are moved meanwhile, and that is said of
    /// ranges of an empty part of what lies below one directory.
    pub fn may_have_pages(&self, va: usize, len: usize) -> bool {
        let end = checked_end(va, len);
        let directory = va & !(bytes_of(2) - 1);
        let Some(blocks) = self.directory(va).filter(|_| end - directory < bytes_of(2)) else { return true };
        let mut block = va & !(bytes_of(1) - 1);
        while block < end {
            let entry = blocks[index(block, 1)].load(Ordering::Acquire);
            // Most blocks have nothing, not even a table: the rest is apart, so that these take no more than this look.
            if entry != 0 && block_may_have_pages(entry, block, va, end) {
                return true;
            }
            block += bytes_of(1);
        }
        false
    }

    /// Removes all pages of a range and hands each to `removed`; large pages that stick out are split. The
    /// caller excludes other changes to the range, and flushes. Until then a CPU that has written to a page before may
    /// write to it again: then the page is handed over with [`PageFlags::DIRTY`].
    pub fn unmap(
        &self,
        va: usize,
        len: usize,
        removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        let end = checked_end(va, len);
        // Mostly it is a part of what lies below one directory, and often of one table of small pages: it empties neither.
        let (block, directory) = (va & !(bytes_of(1) - 1), va & !(bytes_of(2) - 1));
        let Some(blocks) = self.directory(va).filter(|_| end - directory < bytes_of(2)) else {
            return self.unmap_level(self.root(), 3, 0, va, end, removed);
        };
        if end - block < bytes_of(1) {
            match blocks[index(va, 1)].load(Ordering::Acquire) {
                0 => return Ok(()),
                entry if is_table(entry, 1) && !is_growing(entry) => {
                    unmap_small(table(entry), block, va, end, self.number, removed);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.unmap_level(blocks, 1, directory, va, end, removed)
    }

    fn unmap_level(
        &self,
        current: &'static Table,
        level: usize,
        base: usize,
        start: usize,
        end: usize,
        removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        if level == 0 {
            unmap_small(current, base, start, end, self.number, removed);
            return Ok(());
        }
        let span = bytes_of(level);
        for (slot, va) in slots(base, span, start, end) {
            let entry = current[slot].load(Ordering::Acquire);
            if entry == 0 {
                continue;
            }
            let covered = start <= va && va + span <= end;
            let entry = self.settled(&current[slot], entry, va, covered);
            if is_growing(entry) {
                percpu::count_page_table_change();
                let entry = self.take_growing(&current[slot]);
                // SAFETY: the page was given by `map_part`, and the block taken out.
                let page = unsafe { Page::from_entry(entry, PageSize::Size2M, self.number) };
                removed(va, page, flags_of(entry));
            } else if is_table(entry, level) {
                if level == 1 {
                    unmap_small(table(entry), va, start, end, self.number, removed);
                } else {
                    self.unmap_level(table(entry), level - 1, va, start, end, removed)?;
                }
                // The root's tables stay: there are at most 256 of them.
                if covered && level < 3 {
                    current[slot].store(0, Ordering::Release);
                    // All that it had was taken out above.
                    self.retire(entry & ADDRESS, Content::Zeros);
                }
            } else if covered {
                // SAFETY: a slot of a table of this level, which leads to no other table.
                unsafe { unmap_page(&current[slot], va, PageSize::of_level(level), self.number, removed) };
            } else {
                let below = split(&current[slot], entry, level)?;
                self.unmap_level(below, level - 1, va, start, end, removed)?;
            }
        }
        Ok(())
    }

    /// Hands the 4 KiB pages of a page-aligned range that are dirty to `dirty`, and makes them clean. The caller excludes
    /// other changes and flushes: until then a CPU may write to such a page unnoticed.
    pub fn take_dirty(&self, va: usize, len: usize, dirty: &mut dyn FnMut(usize)) {
        take_dirty_level(self.root(), 3, 0, va, checked_end(va, len), dirty);
    }

    /// Gives all present pages of a page-aligned range new flags; dirty ones stay dirty. The caller excludes other changes,
    /// and flushes.
    pub fn protect(&self, va: usize, len: usize, flags: PageFlags) -> Result<(), MapError> {
        self.protect_level(self.root(), 3, 0, va, checked_end(va, len), flags)
    }

    fn protect_level(
        &self,
        current: &'static Table,
        level: usize,
        base: usize,
        start: usize,
        end: usize,
        flags: PageFlags,
    ) -> Result<(), MapError> {
        let span = bytes_of(level);
        if level == 0 {
            groups::of(current, base, start, end)
                .for_each(|(slot, _)| protect_page(&current[slot], level, flags));
            return Ok(());
        }
        for (slot, va) in slots(base, span, start, end) {
            let entry = current[slot].load(Ordering::Acquire);
            if entry == 0 {
                continue;
            }
            let covered = start <= va && va + span <= end;
            // Some processors cannot bear that what they execute becomes a large page (Intel's erratum of the instruction TLB).
            let entry = self.settled(&current[slot], entry, va, covered && !flags.contains(PageFlags::EXEC));
            if is_growing(entry) {
                table(entry).iter().for_each(|slot| protect_page(slot, 0, flags));
            } else if is_table(entry, level) {
                self.protect_level(table(entry), level - 1, va, start, end, flags)?;
            } else if covered {
                protect_page(&current[slot], level, flags);
            } else {
                let below = split(&current[slot], entry, level)?;
                self.protect_level(below, level - 1, va, start, end, flags)?;
            }
        }
        Ok(())
    }

    /// The entry of a slot that is to be changed; its page is whole unless it may go on growing.
    fn settled(&self, slot: &AtomicU64, entry: u64, va: usize, may_grow: bool) -> u64 {
        if may_grow || !is_growing(entry) {
            return entry;
        }
        self.complete(va);
        slot.load(Ordering::Acquire)
    }

    fn retire(&self, pa: u64, content: Content) {
        let mut retired = self.retired.lock();
        retired.push(pa, tlb::begin_lazy(), content);
        // Two for each that comes: the list gets shorter as soon as CPUs have flushed, and the work here is bounded.
        for _ in 0..2 {
            if let Some(pa) = retired.pop_surplus() {
                // SAFETY: it was taken out, and every CPU has flushed since.
                unsafe { free_table(pa) };
            }
        }
    }

    /// A table of zeros: one that was taken out, if there is one. Does not wait for others who are at the list.
    fn new_table(&self) -> Result<u64, MapError> {
        match self.retired.try_lock().and_then(|mut retired| retired.pop_zeros()) {
            Some(pa) => Ok(pa),
            None => new_table(),
        }
    }

    /// Takes out all tables of the low half, whose pages are gone.
    ///
    /// # Panics
    /// If a page is left.
    fn take_out_tables(&self) {
        for slot in &self.root[..index(PROGRAM_HALF, 3)] {
            let entry = slot.swap(0, Ordering::AcqRel);
            if entry != 0 {
                self.take_out_below(table(entry), 2);
                self.retire(entry & ADDRESS, Content::Zeros);
            }
        }
    }

    fn take_out_below(&self, current: &'static Table, level: usize) {
        for slot in current {
            let entry = slot.load(Ordering::Acquire);
            if entry == 0 {
                continue;
            }
            assert!(is_table(entry, level) && !is_growing(entry), "a page table is given back with a page");
            if level > 1 {
                self.take_out_below(table(entry), level - 1);
            } else {
                assert!(groups::is_empty(table(entry)), "a page table is given back with a page");
            }
            slot.store(0, Ordering::Release);
            self.retire(entry & ADDRESS, Content::Zeros);
        }
    }

    /// Frees the tables that are kept to be used again.
    fn give_tables_back(&self) {
        while let Some(pa) = self.retired.lock().pop() {
            // SAFETY: it was taken out, and every CPU has flushed since.
            unsafe { free_table(pa) };
        }
    }
}

/// First address past the program's half.
const PROGRAM_HALF: usize = 1 << 47;

/// The end of a range of pages of the program's half.
///
/// # Panics
/// If it is none.
fn checked_end(va: usize, len: usize) -> usize {
    let end = va.checked_add(len).filter(|&end| end <= PROGRAM_HALF);
    let is_aligned = (va | len).is_multiple_of(PAGE_SIZE);
    end.filter(|_| is_aligned).unwrap_or_else(|| panic!("no pages of the program: {va:#x}+{len:#x}"))
}

/// What an entry of a table of that level spans.
const fn bytes_of(level: usize) -> usize {
    PAGE_SIZE << (9 * level)
}

/// The slots of a table whose first address is `base` that overlap `start..end`, with the address of each.
fn slots(base: usize, span: usize, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = start.saturating_sub(base) / span;
    let last = (end - base).div_ceil(span).min(512);
    (first..last).map(move |slot| (slot, base + slot * span))
}

/// Whether the block at `base`, whose entry is not empty, may have pages of a range.
#[inline(never)]
fn block_may_have_pages(entry: u64, base: usize, start: usize, end: usize) -> bool {
    !is_finished_table(entry) || groups::any(table(entry), base, start, end)
}

/// Removes the pages of a range that a table of 4 KiB pages has, which is that of the block at `base` in the page table with
/// that number.
fn unmap_small(
    current: &'static Table,
    base: usize,
    start: usize,
    end: usize,
    number: TableNumber,
    removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
) {
    for (slot, va) in groups::take(current, base, start, end) {
        // SAFETY: a slot of a table of 4 KiB pages.
        unsafe { unmap_page(&current[slot], va, PageSize::Size4K, number, removed) };
    }
}

/// Removes the page of an entry, if there is one.
///
/// # Safety
/// The slot is one of that page table's low half, for pages of that size, and leads to no table.
#[inline(always)]
unsafe fn unmap_page(
    slot: &AtomicU64,
    va: usize,
    size: PageSize,
    number: TableNumber,
    removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
) {
    if slot.load(Ordering::Relaxed) == 0 {
        return;
    }
    percpu::count_page_table_change();
    // A processor may set the dirty bit at any time before.
    let entry = slot.swap(0, Ordering::AcqRel);
    if entry != 0 {
        // SAFETY: of a program's pages `map` makes the entries, and this one was taken out by the swap.
        let page = unsafe { Page::from_entry(entry, size, number) };
        removed(va, page, flags_of(entry));
    }
}

/// Gives the page of an entry new flags, if there is one.
fn protect_page(slot: &AtomicU64, level: usize, flags: PageFlags) {
    let entry = slot.load(Ordering::Acquire);
    if entry != 0 {
        percpu::count_page_table_change();
        let mut new = program_leaf(entry & (ADDRESS | LENT | SHARED), PageSize::of_level(level), flags);
        if entry & SHARED != 0 {
            new &= !WRITABLE;
        }
        // Only a processor that sets the dirty bit can interfere.
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, |entry| Some(new | entry & DIRTY));
    }
}

fn take_dirty_level(
    current: &'static Table,
    level: usize,
    base: usize,
    start: usize,
    end: usize,
    dirty: &mut dyn FnMut(usize),
) {
    let span = bytes_of(level);
    for (slot, va) in slots(base, span, start, end) {
        let entry = current[slot].load(Ordering::Acquire);
        if is_table(entry, level) {
            take_dirty_level(table(entry), level - 1, va, start, end, dirty);
        } else if level == 0 && entry & DIRTY != 0 {
            percpu::count_page_table_change();
            current[slot].fetch_and(!DIRTY, Ordering::AcqRel);
            dirty(va);
        }
    }
}
