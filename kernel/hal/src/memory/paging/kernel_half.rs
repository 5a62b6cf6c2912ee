// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel's half of the page table: built once, and extended by device memory at start.

use core::sync::atomic::{AtomicU64, Ordering};

use super::MapError;
use super::entry::{GLOBAL, PageFlags, PageSize, index, leaf};
use super::tables::{Table, new_table, set_empty, table, table_for};
use crate::memory::layout::{DEVICE_MAP, PAGE_SIZE};

/// Makes an entry of the kernel's.
fn install(root: &'static Table, va: usize, entry: u64, size: PageSize) -> Result<(), MapError> {
    set_empty(&table_for(root, va, size, new_table)?[index(va, size.level())], entry)
}

/// Physical address of the top-level table; the start-up code of other processors reads it.
pub(crate) static ROOT: AtomicU64 = AtomicU64::new(0);

/// Physical address of the top-level table, for CR3.
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
        match install(kernel_root(), DEVICE_MAP + at as usize, leaf(at, size, flags) | GLOBAL, size) {
            Ok(()) | Err(MapError::AlreadyMapped) => {}
            Err(MapError::NoMemory) => {
                panic!("out of memory for the page tables of device memory at {at:#x}")
            }
        }
        at += size.bytes() as u64;
    }
}

#[cfg(target_os = "none")]
mod build {
    use super::new_table;
    use super::*;
    use crate::memory::layout::{DIRECT_MAP, KERNEL_BASE};
    use crate::memory::paging::PROGRAM;
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
            for va in (start..end).step_by(PAGE_SIZE) {
                let pa = (va - KERNEL_BASE) as u64;
                install(root, va, leaf(pa, PageSize::Size4K, flags) | GLOBAL, PageSize::Size4K)?;
            }
        }
        let gigabyte_pages = raw_cpuid::CpuId::new()
            .get_extended_processor_and_feature_identifiers()
            .is_some_and(|features| features.has_1gib_pages());
        for range in memory {
            let (start, bytes) = (range.start, range.end - range.start);
            map_direct(root, range, gigabyte_pages)?;
            // SAFETY: the caller gives memory, and it was mapped above.
            unsafe { tlb::note_fill_memory(start, bytes) };
        }
        PROGRAM.root.call_once(|| root);
        Ok(())
    }

    fn map_direct(
        root: &'static Table,
        range: core::ops::Range<u64>,
        gigabyte_pages: bool,
    ) -> Result<(), MapError> {
        let flags = PageFlags::READ | PageFlags::WRITE;
        let mut at = range.start & !((2 << 20) - 1);
        while at < range.end {
            let mut size = if gigabyte_pages && at.is_multiple_of(1 << 30) && range.end - at >= 1 << 30 {
                PageSize::Size1G
            } else {
                PageSize::Size2M
            };
            let map = |size| install(root, DIRECT_MAP + at as usize, leaf(at, size, flags) | GLOBAL, size);
            let mut outcome = map(size);
            if outcome == Err(MapError::AlreadyMapped) && size == PageSize::Size1G {
                // An earlier range begins in the same gibibyte.
                size = PageSize::Size2M;
                outcome = map(size);
            }
            match outcome {
                // Neighbouring ranges share their first and last large page.
                Ok(()) | Err(MapError::AlreadyMapped) => {}
                Err(error) => return Err(error),
            }
            at += size.bytes() as u64;
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
