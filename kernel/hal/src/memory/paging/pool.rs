// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All page tables, and who has them: each has one owner or waits for the next.
//!
//! The first is the one that the kernel boots with. As long as it is the only one no CPU ever looks which table it has; with
//! the second, switches between threads begin to (`threads/context/switch_code.rs`).

use alloc::boxed::Box;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};

use spin::Once;

use super::entry::index;
use super::page::MOST_TABLES;
use super::tables::{free_table, new_table, table};
use super::{MapError, PageTable, TableNumber};
use crate::memory::fallible;
use crate::sync::{Rank, SpinLock};
use crate::threads::context;

/// A page table whose low half is the owner's. Dropping it takes the tables of that half out.
///
/// # Panics
/// When it is dropped with a page. (Pages that were unmapped must have been flushed as well, or the next owner's program finds
/// them.)
#[must_use = "a page table that is dropped is used again"]
pub struct OwnedPageTable(&'static PageTable);

impl OwnedPageTable {
    /// What threads have to run on it.
    pub fn switchable(&self) -> Switchable {
        Switchable(self.0)
    }
}

impl Deref for OwnedPageTable {
    type Target = PageTable;

    #[inline(always)]
    fn deref(&self) -> &PageTable {
        self.0
    }
}

impl Drop for OwnedPageTable {
    fn drop(&mut self) {
        self.0.take_out_tables();
        let mut pool = POOL.lock();
        self.0.next_free.store(pool.free, Ordering::Relaxed);
        pool.free = Some(self.0);
    }
}

/// A page table that a CPU may load; what it maps is the owner's matter.
#[derive(Clone, Copy)]
pub struct Switchable(pub(crate) &'static PageTable);

struct Pool {
    /// The table that was made last: it leads to the others.
    newest: Option<&'static PageTable>,
    free: Option<&'static PageTable>,
}

static POOL: SpinLock<Pool> = SpinLock::ranked(Rank::PageTablePool, Pool { newest: None, free: None });

const FIRST_NUMBER: TableNumber = 1;
static FIRST: Once<PageTable> = Once::new();
static NEXT_NUMBER: AtomicU32 = AtomicU32::new(FIRST_NUMBER + 1);

impl Pool {
    fn all(&self) -> impl Iterator<Item = &'static PageTable> {
        core::iter::successors(self.newest, |table| table.previous.load(Ordering::Relaxed))
    }
}

/// Names the table that the kernel boots with.
#[cfg(target_os = "none")]
pub(super) fn set_first(root_pa: u64) {
    let first = FIRST.call_once(|| PageTable::new(table(root_pa), FIRST_NUMBER));
    *POOL.lock() = Pool { newest: Some(first), free: Some(first) };
}

/// A page table with an empty low half.
pub fn take() -> Result<OwnedPageTable, MapError> {
    let free = {
        let mut pool = POOL.lock();
        let free = pool.free;
        pool.free = free.and_then(|table| table.next_free.load(Ordering::Relaxed));
        free
    };
    free.map_or_else(make, Ok).map(OwnedPageTable)
}

fn make() -> Result<&'static PageTable, MapError> {
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    if number > MOST_TABLES {
        NEXT_NUMBER.fetch_sub(1, Ordering::Relaxed);
        return Err(MapError::NoMemory);
    }
    let root_pa = new_table()?;
    let Ok(made) = fallible::boxed(PageTable::new(table(root_pa), number)) else {
        // SAFETY: made above, and never linked.
        unsafe { free_table(root_pa) };
        return Err(MapError::NoMemory);
    };
    let made = Box::leak(made);
    {
        let mut pool = POOL.lock();
        KERNEL_ENTRIES.for_each(|slot| copy_from_first(made, slot));
        made.previous.store(pool.newest, Ordering::Relaxed);
        pool.newest = Some(made);
    }
    context::begin_table_switches();
    Ok(made)
}

/// Entries of a top-level table that are the kernel's.
const KERNEL_ENTRIES: core::ops::Range<usize> = 256..512;

fn copy_from_first(table: &PageTable, slot: usize) {
    if let Some(first) = FIRST.get() {
        table.root[slot].store(first.root[slot].load(Ordering::Relaxed), Ordering::Release);
    }
}

/// Gives all page tables what the first one has for an address of the kernel's half.
pub(super) fn share_kernel_entry(va: usize) {
    POOL.lock().all().for_each(|table| copy_from_first(table, index(va, 3)));
}

/// Frees tables that page tables keep to use them again.
#[cfg(target_os = "none")]
pub(crate) fn give_tables_back() {
    let mut next = POOL.lock().newest;
    while let Some(table) = next {
        table.give_tables_back();
        next = table.previous.load(Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::growing::tests::{AT, set_frames};
    use super::super::{PROGRAM_HALF, Page, PageFlags, Stale};
    use super::*;
    use crate::memory::frames::{Block, host_arena};
    use crate::memory::layout::PAGE_SIZE;
    use crate::memory::tlb;

    fn page() -> Page {
        Page::from(Block::claim(host_arena(PAGE_SIZE), 0).expect("free"))
    }

    #[test]
    fn tables_are_apart_and_used_again_empty() {
        set_frames();
        let (one, other) = (take().expect("memory"), take().expect("memory"));
        assert!(one.number() != other.number());
        assert_eq!(one.map(AT, page(), PageFlags::READ), Ok(()));
        assert!(one.lookup(AT).is_some() && other.lookup(AT).is_none());
        let mut removed = None;
        assert_eq!(one.unmap(AT, PAGE_SIZE, &mut |_, page, _| removed = Some(page)), Ok(()));
        let removed = removed.expect("a page");
        assert_eq!(removed.table(), one.number());
        let mut stale = Stale::new();
        stale.push(AT, removed);
        assert_eq!(stale.flushed(&tlb::shootdown(&one, AT, PAGE_SIZE)).bytes(), PAGE_SIZE as u64);
        let number = one.number();
        drop(one);
        let again = take().expect("memory");
        assert_eq!(again.number(), number);
        assert!(again.root[..index(PROGRAM_HALF, 3)].iter().all(|slot| slot.load(Ordering::Relaxed) == 0));
    }

    #[test]
    #[should_panic(expected = "from one table to another")]
    fn a_page_that_was_unmapped_is_mapped_in_its_table_only() {
        set_frames();
        let (one, other) = (take().expect("memory"), take().expect("memory"));
        assert_eq!(one.map(AT, page(), PageFlags::READ), Ok(()));
        let mut map = |va, page: Page<_>, flags| {
            let _ = other.map(va, page, flags);
        };
        let _ = one.unmap(AT, PAGE_SIZE, &mut map);
    }

    #[test]
    #[should_panic(expected = "given back with a page")]
    fn a_table_with_a_page_is_not_given_back() {
        set_frames();
        let table = take().expect("memory");
        assert_eq!(table.map(AT, page(), PageFlags::READ), Ok(()));
        drop(table);
    }
}
