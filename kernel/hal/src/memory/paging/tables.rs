// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages that tables are: their memory, the way down to an entry, and entries that are made.

use core::sync::atomic::{AtomicU64, Ordering};

use super::entry::{ADDRESS, LARGE, PRESENT, PageSize, SHARED, USER, WRITABLE, index};
use super::growing::GROWING;
use super::{MapError, groups};
use crate::memory::frames::{self, Block, Share, ledger};
use crate::memory::layout::PAGE_SIZE;
use crate::memory::phys;
use crate::trap::ring;

pub(super) type Table = [AtomicU64; 512];

pub(super) fn table(pa: u64) -> &'static Table {
    let address = core::ptr::with_exposed_provenance::<Table>(phys::BASE + (pa & ADDRESS) as usize);
    // SAFETY: `pa` is that of a table page: allocated by `new_table` (or the boot code's, mapped alike), in the direct map,
    // page-aligned, never used for anything else while it is linked, and atomics may be shared.
    unsafe { &*address }
}

/// Physical address of a table.
pub(super) fn phys_of(table: &'static Table) -> u64 {
    (core::ptr::from_ref(table).addr() - phys::BASE) as u64
}

/// A table of zeros in new memory.
pub(super) fn new_table() -> Result<u64, MapError> {
    let block = frames::source().and_then(|source| source.alloc_spare(0)).ok_or(MapError::NoMemory)?;
    assert!(block.order() == 0, "a table is a page");
    block.clear();
    Ok(block.into_phys())
}

/// # Safety
/// The memory of the table came from [`new_table`], and no CPU can walk it any more.
pub(super) unsafe fn free_table(pa: u64) {
    if let Some(source) = frames::source() {
        // SAFETY: as the caller says.
        source.free(unsafe { Block::owned(pa, 0) });
    }
}

/// Returns the table below `entry`; `new` makes one, as [`new_table`] does, if the entry is empty.
#[inline(always)]
pub(super) fn descend(
    entry: &AtomicU64,
    new: impl FnOnce() -> Result<u64, MapError>,
) -> Result<&'static Table, MapError> {
    let mut value = entry.load(Ordering::Acquire);
    if value == 0 {
        value = link(entry, new)?;
    }
    // In a block that grows every place is taken.
    if value & (PRESENT | LARGE | GROWING) == PRESENT {
        Ok(table(value))
    } else {
        Err(MapError::AlreadyMapped)
    }
}

/// Links a table where there was none; returns the entry, which may be somebody else's.
#[cold]
fn link(entry: &AtomicU64, new: impl FnOnce() -> Result<u64, MapError>) -> Result<u64, MapError> {
    let fresh = new()?;
    // Where programs run in ring 3, what they may do is up to the pages: those of the kernel are not theirs. Elsewhere nothing is
    // for ring 3, whoever gets there (SYSRET).
    let own = fresh | PRESENT | WRITABLE | if ring::isolates() { USER } else { 0 };
    Ok(match entry.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => own,
        Err(found) => {
            // SAFETY: made above, and never linked.
            unsafe { free_table(fresh) };
            found
        }
    })
}

/// The table in which a page of a size has its entry; what is missing `new` makes.
#[inline(always)]
pub(super) fn table_for(
    root: &'static Table,
    va: usize,
    size: PageSize,
    new: impl Fn() -> Result<u64, MapError>,
) -> Result<&'static Table, MapError> {
    let mut current = root;
    for level in (size.level() + 1..4).rev() {
        current = descend(&current[index(va, level)], &new)?;
    }
    Ok(current)
}

pub(super) fn set_empty(slot: &AtomicU64, entry: u64) -> Result<(), MapError> {
    slot.compare_exchange(0, entry, Ordering::AcqRel, Ordering::Relaxed)
        .map(drop)
        .map_err(|_| MapError::AlreadyMapped)
}

/// Replaces a large page by a table of 512 pages with the same flags.
pub(super) fn split(slot: &AtomicU64, entry: u64, level: usize) -> Result<&'static Table, MapError> {
    let pa = new_table()?;
    if level == 1 && entry & SHARED != 0 {
        // SAFETY: the entry's share becomes those of the entries below.
        let share = unsafe { Share::named(Block::name(entry & ADDRESS, PageSize::Size2M.order())) };
        share.split(|pa, order| {
            if let Some(source) = frames::source() {
                source.split(pa, order);
            }
        });
    }
    let below = table(pa);
    let span = PAGE_SIZE as u64 * if level == 2 { 512 } else { 1 };
    let keep = entry & !ADDRESS & if level == 1 { !LARGE } else { !0 };
    for (part, small) in below.iter().enumerate() {
        let pa = (entry & ADDRESS) + part as u64 * span;
        if level == 1 && entry & SHARED == 0 {
            // It becomes a single frame, which nobody has lent.
            ledger::users(pa).store(0, Ordering::Relaxed);
        }
        small.store(pa | keep, Ordering::Relaxed);
    }
    groups::note_all(below);
    slot.store(pa | PRESENT | WRITABLE | USER, Ordering::Release);
    Ok(below)
}
