// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an entry of a page table says: the bits, and what a program may do by them.

use bitflags::bitflags;

use crate::memory::layout::PAGE_SIZE;

pub(super) const PRESENT: u64 = 1 << 0;
pub(super) const WRITABLE: u64 = 1 << 1;
/// Code in ring 3 may use it, too.
pub(super) const USER: u64 = 1 << 2;
const WRITE_THROUGH: u64 = 1 << 3;
const CACHE_DISABLE: u64 = 1 << 4;
/// Set by the processor when it writes to the page.
pub(super) const DIRTY: u64 = 1 << 6;
pub(super) const LARGE: u64 = 1 << 7;
pub(super) const GLOBAL: u64 = 1 << 8;
/// Software bit: the frame is lent to the table, and somebody else's.
pub(super) const LENT: u64 = 1 << 10;
/// Software bit: the memory is shared with other tables, and written by nobody.
pub(super) const SHARED: u64 = 1 << 52;
/// Software bit: the page keeps its content although the program may not touch it now.
const KEPT: u64 = 1 << 9;
const NO_EXECUTE: u64 = 1 << 63;
pub(super) const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

bitflags! {
    /// What a program may do with a page; without `READ` the page stays where it is but every access faults.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PageFlags: u8 {
        /// The page is accessible.
        const READ = 1;
        /// It may be written.
        const WRITE = 2;
        /// It may be executed.
        const EXEC = 4;
        /// It is device memory.
        const UNCACHED = 8;
        /// It has been written since it was mapped, or since [`super::PageTable::take_dirty`].
        const DIRTY = 16;
        /// Other tables have the same memory: it is not written, whatever else is permitted.
        const SHARED = 32;
    }
}

/// The three sizes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSize {
    /// 4 KiB
    Size4K,
    /// 2 MiB
    Size2M,
    /// 1 GiB
    Size1G,
}

impl PageSize {
    /// Bytes in the page.
    pub const fn bytes(self) -> usize {
        PAGE_SIZE << (9 * self.level())
    }

    /// Order of the page in the frame allocator.
    pub const fn order(self) -> u8 {
        9 * self.level() as u8
    }

    pub(super) const fn of_order(order: u8) -> Option<Self> {
        match order {
            0 => Some(Self::Size4K),
            9 => Some(Self::Size2M),
            18 => Some(Self::Size1G),
            _ => None,
        }
    }

    pub(super) const fn level(self) -> usize {
        match self {
            Self::Size4K => 0,
            Self::Size2M => 1,
            Self::Size1G => 2,
        }
    }

    pub(super) const fn of_level(level: usize) -> Self {
        match level {
            0 => Self::Size4K,
            1 => Self::Size2M,
            _ => Self::Size1G,
        }
    }
}

pub(super) fn index(va: usize, level: usize) -> usize {
    va >> (12 + 9 * level) & 511
}

pub(super) fn is_table(entry: u64, level: usize) -> bool {
    level > 0 && entry & PRESENT != 0 && entry & LARGE == 0
}

pub(super) fn leaf(pa: u64, size: PageSize, flags: PageFlags) -> u64 {
    let mut entry = pa | if flags.contains(PageFlags::READ) { PRESENT } else { KEPT };
    if size != PageSize::Size4K {
        entry |= LARGE;
    }
    if flags.contains(PageFlags::WRITE) {
        entry |= WRITABLE;
    }
    if !flags.contains(PageFlags::EXEC) {
        entry |= NO_EXECUTE;
    }
    if flags.contains(PageFlags::UNCACHED) {
        entry |= CACHE_DISABLE | WRITE_THROUGH;
    }
    if flags.contains(PageFlags::DIRTY) {
        entry |= DIRTY;
    }
    entry
}

/// The same for a page of a program. Ring 3 reaches it if the tables above let it.
pub(super) fn program_leaf(pa: u64, size: PageSize, flags: PageFlags) -> u64 {
    leaf(pa, size, flags) | USER
}

pub(super) fn flags_of(entry: u64) -> PageFlags {
    let mut flags = PageFlags::empty();
    flags.set(PageFlags::READ, entry & PRESENT != 0);
    flags.set(PageFlags::WRITE, entry & WRITABLE != 0);
    flags.set(PageFlags::EXEC, entry & NO_EXECUTE == 0);
    flags.set(PageFlags::UNCACHED, entry & CACHE_DISABLE != 0);
    flags.set(PageFlags::DIRTY, entry & DIRTY != 0);
    flags.set(PageFlags::SHARED, entry & SHARED != 0);
    flags
}
