// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that two page tables have after a `fork`: sharing it, and having it alone again.

use core::sync::atomic::{AtomicU64, Ordering};

use super::entry::{
    ADDRESS, DIRTY, LENT, PageFlags, PageSize, SHARED, WRITABLE, index, is_table, program_leaf,
};
use super::growing::is_growing;
use super::tables::{Table, set_empty, table, table_for};
use super::{MapError, PageTable, bytes_of, checked_end, groups, slots};
use crate::cpu::percpu;
use crate::memory::frames::{Block, Share, ledger};
use crate::memory::layout::PAGE_SIZE;

impl PageTable {
    /// Gives another table, in which nothing is mapped in the range, the table's own pages of it; from then on both share them and
    /// neither may write to them. Frames that are lent are left out. Counts the bytes that are shared. The caller excludes other
    /// changes to the range in both, and flushes this one, also after an error: then the other one has a part of the pages.
    ///
    /// # Panics
    /// If a page sticks out of the range.
    pub fn share(&self, other: &Self, va: usize, len: usize, bytes: &mut usize) -> Result<(), MapError> {
        self.share_level(other, self.root(), 3, 0, (va, checked_end(va, len)), bytes)
    }

    fn share_level(
        &self,
        other: &Self,
        current: &'static Table,
        level: usize,
        base: usize,
        (start, end): (usize, usize),
        bytes: &mut usize,
    ) -> Result<(), MapError> {
        for (slot, va) in slots(base, bytes_of(level), start, end) {
            let slot = &current[slot];
            let mut entry = slot.load(Ordering::Acquire);
            if is_growing(entry) {
                self.complete(va);
                entry = slot.load(Ordering::Acquire);
            }
            if entry == 0 {
                continue;
            }
            if is_table(entry, level) {
                let below = table(entry);
                if level == 1 {
                    share_small(below, other, va, (start, end), bytes)?;
                } else {
                    self.share_level(other, below, level - 1, va, (start, end), bytes)?;
                }
                continue;
            }
            let size = PageSize::of_level(level);
            assert!(start <= va && va + size.bytes() <= end, "pages are shared as wholes");
            let theirs = table_for(other.root(), va, size, || other.new_table())?;
            share_page(slot, entry, size, &theirs[index(va, level)])?;
            *bytes += size.bytes();
        }
        Ok(())
    }

    /// Makes the page at `va` the table's own again, with these flags, if nobody else has a share in its memory; false if somebody
    /// has, or it is not shared. Callers may race. The caller excludes that pages are removed or changed otherwise. Other CPUs
    /// notice the new rights when they fault.
    pub fn unshare(&self, va: usize, flags: PageFlags) -> bool {
        let Some((slot, size)) = self.leaf(va) else { return false };
        let entry = slot.load(Ordering::Acquire);
        if entry & SHARED == 0 {
            return false;
        }
        // SAFETY: the entry has the share, and keeps it here.
        let share = unsafe { Share::named(Block::name(entry & ADDRESS, size.order())) };
        let is_only = share.is_only();
        let _ = share.into_name();
        if !is_only {
            return false;
        }
        let own = program_leaf(entry & ADDRESS, size, flags);
        let is_taken = slot.compare_exchange(entry, own, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_taken {
            percpu::count_page_table_change();
            // Of a single frame the word says how often it is lent.
            ledger::users(entry & ADDRESS).store(0, Ordering::Relaxed);
        }
        is_taken
    }

    /// The entry of the page at an address, if there is a page.
    fn leaf(&self, va: usize) -> Option<(&'static AtomicU64, PageSize)> {
        let mut current = self.root();
        for level in (0..4).rev() {
            let slot = &current[index(va, level)];
            let entry = slot.load(Ordering::Acquire);
            if is_table(entry, level) {
                current = table(entry);
            } else {
                return (entry != 0).then_some((slot, PageSize::of_level(level)));
            }
        }
        None
    }
}

/// Shares the 4 KiB pages that a table has from the address `base` on with another page table, in which one table takes them all.
fn share_small(
    current: &'static Table,
    other: &PageTable,
    base: usize,
    (start, end): (usize, usize),
    bytes: &mut usize,
) -> Result<(), MapError> {
    let mut theirs = None;
    for (slot, va) in groups::of(current, base, start, end) {
        let entry = current[slot].load(Ordering::Acquire);
        if entry == 0 || entry & LENT != 0 {
            continue;
        }
        let theirs = match theirs {
            Some(theirs) => theirs,
            None => {
                let made = table_for(other.root(), va, PageSize::Size4K, || other.new_table())?;
                groups::note_those_of(current, made);
                *theirs.insert(made)
            }
        };
        share_page(&current[slot], entry, PageSize::Size4K, &theirs[slot])?;
        *bytes += PAGE_SIZE;
    }
    Ok(())
}

/// Makes the page of an entry one that is shared, and the other entry one of the same page.
#[inline(always)]
fn share_page(slot: &AtomicU64, entry: u64, size: PageSize, other: &AtomicU64) -> Result<(), MapError> {
    percpu::count_page_table_change();
    let pa = entry & ADDRESS;
    let share = if entry & SHARED != 0 {
        // SAFETY: the entry has the share, and keeps it here.
        unsafe { Share::named(Block::name(pa, size.order())) }
    } else {
        // SAFETY: the page is the table's own, and becomes a share below.
        Share::first(unsafe { Block::named(Block::name(pa, size.order())) })
    };
    let another = share.again();
    let _ = share.into_name();
    // Also if there are too many shares: then it is the only one.
    let bits = (entry | SHARED) & !WRITABLE;
    if bits != entry {
        // Only a processor that sets the dirty bit can interfere.
        let shared = |entry: u64| Some((entry | SHARED) & !WRITABLE);
        let _ = slot.fetch_update(Ordering::AcqRel, Ordering::Acquire, shared);
    }
    let share = another.ok_or(MapError::NoMemory)?;
    if let Err(error) = set_empty(other, bits & !DIRTY) {
        share.end(&mut |_| unreachable!("this table has another share"));
        return Err(error);
    }
    // The other table has it.
    let _ = share.into_name();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::growing::tests::{AT, set_frames};
    use super::super::{Page, Stale, take};
    use super::*;
    use crate::memory::frames::host_arena;
    use crate::memory::tlb;

    const RW: PageFlags = PageFlags::READ.union(PageFlags::WRITE);
    const LARGE: usize = 2 << 20;

    fn page(order: u8) -> Page {
        Page::from(Block::claim(host_arena(LARGE), order).expect("free"))
    }

    /// Bytes that are shared.
    fn share(one: &PageTable, other: &PageTable, va: usize, len: usize) -> usize {
        let mut bytes = 0;
        assert_eq!(one.share(other, va, len, &mut bytes), Ok(()));
        bytes
    }

    /// Bytes that nobody has any more when a range is unmapped.
    fn unmap(table: &PageTable, va: usize, len: usize) -> u64 {
        let mut stale = Stale::new();
        assert_eq!(table.unmap(va, len, &mut |va, page, _| stale.push(va, page)), Ok(()));
        let flush = tlb::shootdown_everywhere(va, len);
        let mut freed = stale.flushed(&flush);
        let bytes = freed.bytes();
        while let Some(block) = freed.pop() {
            block.release();
        }
        bytes
    }

    #[test]
    fn what_is_shared_is_read_until_one_is_left() {
        set_frames();
        let (one, other) = (take().expect("memory"), take().expect("memory"));
        assert!(one.map(AT, page(0), RW).is_ok() && one.map(AT + LARGE, page(9), RW).is_ok());
        assert_eq!(share(&one, &other, AT, 2 * LARGE), PAGE_SIZE + LARGE);
        for va in [AT, AT + LARGE + 5 * PAGE_SIZE] {
            let (mine, its) = (one.lookup(va), other.lookup(va));
            assert!(mine.is_some() && mine == its);
            assert_eq!(mine.map(|found| found.2), Some(PageFlags::READ | PageFlags::SHARED));
            assert!(!one.unshare(va, RW) && !other.unshare(va, RW));
        }
        // Rights that are given do not include writing.
        assert_eq!(other.protect(AT, PAGE_SIZE, RW), Ok(()));
        assert_eq!(other.lookup(AT).map(|found| found.2), Some(PageFlags::READ | PageFlags::SHARED));
        assert_eq!(unmap(&other, AT, 2 * LARGE), 0);
        assert!(one.unshare(AT, RW) && one.unshare(AT + LARGE, RW) && !one.unshare(AT, RW));
        assert_eq!(one.lookup(AT + LARGE).map(|found| found.2), Some(RW));
        assert_eq!(unmap(&one, AT, 2 * LARGE), (PAGE_SIZE + LARGE) as u64);
    }

    #[test]
    fn parts_of_what_is_shared_go_one_by_one() {
        set_frames();
        let (one, other) = (take().expect("memory"), take().expect("memory"));
        assert!(one.map(AT, page(9), RW).is_ok());
        assert_eq!(share(&one, &other, AT, LARGE), LARGE);
        assert_eq!(unmap(&one, AT + PAGE_SIZE, PAGE_SIZE), 0);
        assert_eq!(other.lookup(AT).map(|found| found.1), Some(PageSize::Size2M));
        assert!(!other.unshare(AT, RW), "a part has other owners");
        assert_eq!(unmap(&other, AT + PAGE_SIZE, PAGE_SIZE), PAGE_SIZE as u64);
        assert_eq!(unmap(&one, AT, LARGE), 0);
        assert!(other.unshare(AT + 2 * PAGE_SIZE, RW));
        assert_eq!(unmap(&other, AT, LARGE), (LARGE - PAGE_SIZE) as u64);
    }

    #[test]
    fn inaccessible_pages_are_shared_and_growing_ones_are_completed() {
        set_frames();
        let (one, other) = (take().expect("memory"), take().expect("memory"));
        assert!(one.map(AT, page(0), PageFlags::empty()).is_ok());
        assert!(one.map_part(AT + LARGE + PAGE_SIZE, page(9), RW).is_ok());
        assert_eq!(share(&one, &other, AT, 2 * LARGE), PAGE_SIZE + LARGE);
        assert_eq!(other.lookup(AT).map(|found| found.2), Some(PageFlags::SHARED));
        assert_eq!(other.lookup(AT + LARGE).map(|found| found.1), Some(PageSize::Size2M));
        assert_eq!(unmap(&one, AT, 2 * LARGE), 0);
        assert_eq!(unmap(&other, AT, 2 * LARGE), (PAGE_SIZE + LARGE) as u64);
    }
}
