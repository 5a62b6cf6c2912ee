// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's half of page tables: built once, in the first, and extended by device memory.

use core::sync::atomic::{AtomicU64, Ordering};

use super::entry::{GLOBAL, PageFlags, PageSize, index, leaf};
use super::tables::{Table, new_table, set_empty, table, table_for};
use super::{MapError, pool};
use crate::memory::layout::{DEVICE_MAP, PAGE_SIZE};

/// Makes an entry of the kernel's.
fn install(root: &'static Table, va: usize, entry: u64, size: PageSize) -> Result<(), MapError> {
    set_empty(&table_for(root, va, size, new_table)?[index(va, size.level())], entry)
}

/// Makes entries of the kernel's for a run of pages: `entry` is the first one's, the others follow it in memory. What is mapped
/// already stays: neighbouring ranges of memory share their first and last large page. `new` makes the tables.
#[cfg(any(target_os = "none", test))]
fn install_run(
    root: &'static Table,
    range: core::ops::Range<usize>,
    mut entry: u64,
    size: PageSize,
    new: impl Fn() -> Result<u64, MapError>,
) -> Result<(), MapError> {
    let mut va = range.start;
    while va < range.end {
        let table = table_for(root, va, size, &new)?;
        for slot in &table[index(va, size.level())..] {
            if va >= range.end {
                break;
            }
            let _ = set_empty(slot, entry);
            va += size.bytes();
            entry += size.bytes() as u64;
        }
    }
    Ok(())
}

/// Physical address of the first page table's top-level table; the start-up code of other processors reads it.
pub(crate) static ROOT: AtomicU64 = AtomicU64::new(0);

/// Physical address of the first page table's top-level table, for CR3.
pub fn root() -> u64 {
    ROOT.load(Ordering::Acquire)
}

fn kernel_root() -> &'static Table {
    table(root())
}

/// Maps device memory uncached; a range that is mapped already is left alone.
pub(crate) fn map_device(pa: u64, len: usize) {
    let mut at = pa & !(PAGE_SIZE as u64 - 1);
    let end = pa + len as u64;
    let flags = PageFlags::READ | PageFlags::WRITE | PageFlags::UNCACHED;
    while at < end {
        let size = if at.is_multiple_of(2 << 20) && end - at >= 2 << 20 {
            PageSize::Size2M
        } else {
            PageSize::Size4K
        };
        let va = DEVICE_MAP + at as usize;
        match install(kernel_root(), va, leaf(at, size, flags) | GLOBAL, size) {
            Ok(()) | Err(MapError::AlreadyMapped) => {}
            Err(MapError::NoMemory) => {
                panic!("out of memory for the page tables of device memory at {at:#x}")
            }
        }
        at += size.bytes() as u64;
    }
    // No device is larger than what one entry of a top-level table spans.
    for at in [pa, end - 1] {
        pool::share_kernel_entry(DEVICE_MAP + at as usize);
    }
}

#[cfg(target_os = "none")]
mod build {
    use super::new_table;
    use super::*;
    use crate::cpu;
    use crate::memory::layout::{DIRECT_MAP, KERNEL_BASE};
    use crate::memory::tlb;

    unsafe extern "C" {
        safe static __text_start: u8;
        safe static __text_end: u8;
        safe static __rodata_end: u8;
        safe static __kernel_end: u8;
    }

    fn address(symbol: &u8) -> usize {
        core::ptr::from_ref(symbol) as usize
    }

    /// Builds the kernel's half: the image with its sections' rights, and the direct map of `memory` (byte ranges).
    ///
    /// The frame source must hand out memory below [`crate::memory::layout::BOOT_MAPPED`] until [`activate`] has run.
    pub fn build(memory: impl Iterator<Item = core::ops::Range<u64>>) -> Result<(), MapError> {
        let root_pa = new_table()?;
        ROOT.store(root_pa, Ordering::Release);
        let root = table(root_pa);
        let sections = [
            (address(&__text_start), address(&__text_end), PageFlags::READ | PageFlags::EXEC),
            (address(&__text_end), address(&__rodata_end), PageFlags::READ),
            (address(&__rodata_end), address(&__kernel_end), PageFlags::READ | PageFlags::WRITE),
        ];
        for (start, end, flags) in sections {
            let entry = leaf((start - KERNEL_BASE) as u64, PageSize::Size4K, flags) | GLOBAL;
            install_run(root, start..end, entry, PageSize::Size4K, new_table)?;
        }
        let gigabyte_pages = cpu::has_gigabyte_pages();
        for range in memory {
            let (start, bytes) = (range.start, range.end - range.start);
            map_direct(root, range, gigabyte_pages)?;
            // SAFETY: the caller gives memory, and it was mapped above.
            unsafe { tlb::note_fill_memory(start, bytes) };
        }
        pool::set_first(root_pa);
        Ok(())
    }

    fn map_direct(
        root: &'static Table,
        range: core::ops::Range<u64>,
        gigabyte_pages: bool,
    ) -> Result<(), MapError> {
        const GIBIBYTE: u64 = 1 << 30;
        let entry = |at, size| leaf(at, size, PageFlags::READ | PageFlags::WRITE) | GLOBAL;
        let mut at = range.start & !((2 << 20) - 1);
        while at < range.end {
            let end = range.end.min((at & !(GIBIBYTE - 1)) + GIBIBYTE);
            let (va, va_end) = (DIRECT_MAP + at as usize, DIRECT_MAP + end as usize);
            // An earlier range may begin in the same gibibyte; then there is a table.
            let is_mapped = gigabyte_pages
                && end - at == GIBIBYTE
                && match install(root, va, entry(at, PageSize::Size1G), PageSize::Size1G) {
                    Ok(()) => true,
                    Err(MapError::AlreadyMapped) => false,
                    Err(error) => return Err(error),
                };
            if !is_mapped {
                install_run(root, va..va_end, entry(at, PageSize::Size2M), PageSize::Size2M, new_table)?;
            }
            at = end;
        }
        Ok(())
    }

    /// Switches the calling CPU to the table that [`build`] made.
    pub fn activate() {
        // SAFETY: the table maps the running code, the stacks (in the image or the direct map) and all kernel data where
        // the boot table has them.
        unsafe { core::arch::asm!("mov cr3, {}", in(reg) root(), options(nostack)) };
    }
}
#[cfg(target_os = "none")]
pub use build::{activate, build};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::frames::host_arena;

    const LARGE: usize = 2 << 20;

    fn new() -> Result<u64, MapError> {
        Ok(host_arena(PAGE_SIZE))
    }

    #[test]
    fn runs_fill_one_table_after_the_other_and_leave_what_is_there() {
        let root = table(host_arena(PAGE_SIZE));
        let size = PageSize::Size2M;
        let leaf = |pa: usize| leaf(pa as u64, size, PageFlags::READ) | GLOBAL;
        let entry = |va| {
            let table = table_for(root, va, size, new).expect("a table");
            table[index(va, size.level())].load(Ordering::Relaxed)
        };
        // Three entries at the end of one table, two in the next.
        let (first, pa) = ((1 << 30) - 3 * LARGE, 8 << 30);
        assert_eq!(install_run(root, first..first + 5 * LARGE, leaf(pa), size, new), Ok(()));
        // The end need not be that of a page.
        let second = first + 4 * LARGE;
        assert_eq!(install_run(root, second..second + LARGE + 1, leaf(16 << 30), size, new), Ok(()));
        let found =
            [-1, 0, 2, 3, 4, 5, 6].map(|page: isize| entry(first.wrapping_add_signed(page * LARGE as isize)));
        let kept = [pa, pa + 2 * LARGE, pa + 3 * LARGE, pa + 4 * LARGE].map(leaf);
        assert_eq!(found, [0, kept[0], kept[1], kept[2], kept[3], leaf((16 << 30) + LARGE), 0]);
    }
}
