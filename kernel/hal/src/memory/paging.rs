// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one page table of ring 0: the kernel's half, built once, and the program's window.
//!
//! Entries are atomic words. [`ProgramTable::map`] installs them by compare-and-swap, so that CPUs which fault on
//! neighbouring pages do not wait for each other; removing and changing ranges is excluded by the caller (the address
//! space's lock). Table pages that a removal leaves empty are freed once no CPU can walk them any more ([`crate::memory::tlb`]).
//! Layout: AMD APM vol. 2, 5.3; Intel SDM vol. 3, 4.5.

use core::sync::atomic::{AtomicU64, Ordering};

use bitflags::bitflags;
use spin::Once;

use crate::cpu::percpu;
use crate::memory::frames::{self, Block};
use crate::memory::layout::{DEVICE_MAP, PAGE_SIZE};
use crate::memory::{phys, tlb};
use crate::sync::{Rank, SpinLock};
use growing::{GROWING, is_growing};

mod groups;
mod growing;
mod page;
mod stale;

pub use growing::Growth;
pub use page::{Fresh, Page, Unmapped};
pub use stale::Stale;

const PRESENT: u64 = 1 << 0;
const WRITABLE: u64 = 1 << 1;
const WRITE_THROUGH: u64 = 1 << 3;
const CACHE_DISABLE: u64 = 1 << 4;
/// Set by the processor when it writes to the page.
const DIRTY: u64 = 1 << 6;
const LARGE: u64 = 1 << 7;
const GLOBAL: u64 = 1 << 8;
/// Software bit: the frame is lent to the table, and somebody else's.
const LENT: u64 = 1 << 10;
/// Software bit: the page keeps its content although the program may not touch it now.
const KEPT: u64 = 1 << 9;
const NO_EXECUTE: u64 = 1 << 63;
const ADDRESS: u64 = 0x000f_ffff_ffff_f000;

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
        /// It has been written since it was mapped, or since [`ProgramTable::take_dirty`].
        const DIRTY = 16;
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

    const fn of_order(order: u8) -> Option<Self> {
        match order {
            0 => Some(Self::Size4K),
            9 => Some(Self::Size2M),
            18 => Some(Self::Size1G),
            _ => None,
        }
    }

    const fn level(self) -> usize {
        match self {
            Self::Size4K => 0,
            Self::Size2M => 1,
            Self::Size1G => 2,
        }
    }

    const fn of_level(level: usize) -> Self {
        match level {
            0 => Self::Size4K,
            1 => Self::Size2M,
            _ => Self::Size1G,
        }
    }
}

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

type Table = [AtomicU64; 512];

fn table(pa: u64) -> &'static Table {
    let address = core::ptr::with_exposed_provenance::<Table>(phys::BASE + (pa & ADDRESS) as usize);
    // SAFETY: `pa` is that of a table page: allocated by `new_table` (or the boot code's, mapped alike), in the direct map,
    // page-aligned, never used for anything else while it is linked, and atomics may be shared.
    unsafe { &*address }
}

/// Physical address of a table.
fn phys_of(table: &'static Table) -> u64 {
    (core::ptr::from_ref(table).addr() - phys::BASE) as u64
}

fn new_table() -> Result<u64, MapError> {
    let block = frames::source().and_then(|source| source.alloc_spare(0)).ok_or(MapError::NoMemory)?;
    assert!(block.order() == 0, "a table is a page");
    block.clear();
    Ok(block.into_phys())
}

/// # Safety
/// The table came from [`new_table`], and no CPU can walk it any more.
unsafe fn free_table(pa: u64) {
    if let Some(source) = frames::source() {
        // SAFETY: as the caller says.
        source.free(unsafe { Block::owned(pa, 0) });
    }
}

fn index(va: usize, level: usize) -> usize {
    va >> (12 + 9 * level) & 511
}

fn is_table(entry: u64, level: usize) -> bool {
    level > 0 && entry & PRESENT != 0 && entry & LARGE == 0
}

fn leaf(pa: u64, size: PageSize, flags: PageFlags) -> u64 {
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

fn flags_of(entry: u64) -> PageFlags {
    let mut flags = PageFlags::empty();
    flags.set(PageFlags::READ, entry & PRESENT != 0);
    flags.set(PageFlags::WRITE, entry & WRITABLE != 0);
    flags.set(PageFlags::EXEC, entry & NO_EXECUTE == 0);
    flags.set(PageFlags::UNCACHED, entry & CACHE_DISABLE != 0);
    flags.set(PageFlags::DIRTY, entry & DIRTY != 0);
    flags
}

/// Returns the table below `entry`, making one if the entry is empty.
fn descend(entry: &AtomicU64) -> Result<&'static Table, MapError> {
    let mut value = entry.load(Ordering::Acquire);
    if value == 0 {
        let fresh = new_table()?;
        match entry.compare_exchange(0, fresh | PRESENT | WRITABLE, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(table(fresh)),
            Err(found) => {
                // SAFETY: made above, and never linked.
                unsafe { free_table(fresh) };
                value = found;
            }
        }
    }
    // In a block that grows every place is taken.
    if value & (PRESENT | LARGE | GROWING) == PRESENT {
        Ok(table(value))
    } else {
        Err(MapError::AlreadyMapped)
    }
}

/// The table in which a page of a size has its entry, made if it is missing.
fn table_for(root: &'static Table, va: usize, size: PageSize) -> Result<&'static Table, MapError> {
    let mut current = root;
    for level in (size.level() + 1..4).rev() {
        current = descend(&current[index(va, level)])?;
    }
    Ok(current)
}

fn set_empty(slot: &AtomicU64, entry: u64) -> Result<(), MapError> {
    slot.compare_exchange(0, entry, Ordering::AcqRel, Ordering::Relaxed)
        .map(drop)
        .map_err(|_| MapError::AlreadyMapped)
}

/// Makes an entry of the kernel's.
fn install(root: &'static Table, va: usize, entry: u64, size: PageSize) -> Result<(), MapError> {
    set_empty(&table_for(root, va, size)?[index(va, size.level())], entry)
}

/// The low half of the page table.
pub struct ProgramTable {
    root: Once<&'static Table>,
    retired: SpinLock<Retired>,
}

/// Table pages taken out, the oldest first: a list through the pages themselves, so that taking one out needs no memory.
struct Retired {
    first: u64,
    last: u64,
}

/// Entry of a retired table that holds the next one's address; 0 at the end. No CPU takes it for a page.
const NEXT: usize = 0;
/// Entry of a retired table that holds the flush after which nobody can be walking it, in bits above that for presence.
const FLUSH: usize = 1;

impl Retired {
    fn push(&mut self, pa: u64, flush: u64) {
        table(pa)[NEXT].store(0, Ordering::Relaxed);
        table(pa)[FLUSH].store(flush << 1, Ordering::Relaxed);
        match self.last {
            0 => self.first = pa,
            last => table(last)[NEXT].store(pa, Ordering::Relaxed),
        }
        self.last = pa;
    }

    /// Takes out the oldest if its flush is `completed`.
    fn pop(&mut self, completed: u64) -> Option<u64> {
        let oldest = self.first;
        if oldest == 0 || table(oldest)[FLUSH].load(Ordering::Relaxed) >> 1 > completed {
            return None;
        }
        self.first = table(oldest)[NEXT].load(Ordering::Relaxed);
        if self.first == 0 {
            self.last = 0;
        }
        Some(oldest)
    }
}

static PROGRAM: ProgramTable = ProgramTable {
    root: Once::new(),
    retired: SpinLock::ranked(Rank::PageTables, Retired { first: 0, last: 0 }),
};

/// The page table of the program's window.
pub fn program() -> &'static ProgramTable {
    &PROGRAM
}

impl ProgramTable {
    fn root(&self) -> &'static Table {
        self.root.get().expect("page tables are built before programs run")
    }

    /// Maps one page, whose memory is the table's from then on; callers may race, and the loser gets its page back with
    /// [`MapError::AlreadyMapped`].
    ///
    /// # Panics
    /// If the address is not aligned to the page's size or not in the program's half.
    pub fn map<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        let size = page.size();
        assert!(va.is_multiple_of(size.bytes()) && va < PROGRAM_HALF, "no place for a page: {va:#x}");
        percpu::count_page_table_change();
        let bits = page.into_bits();
        self.install(va, leaf(bits, size, flags), size)
            // SAFETY: made above, and not installed.
            .map_err(|error| (error, unsafe { Page::from_entry(bits, size) }))
    }

    fn install(&self, va: usize, entry: u64, size: PageSize) -> Result<(), MapError> {
        let (table, slot) = (table_for(self.root(), va, size)?, index(va, size.level()));
        if size == PageSize::Size4K {
            groups::note(table, slot);
        }
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

    /// Removes all pages of a range and hands each to `removed`; large pages that stick out are split. The
    /// caller excludes other changes to the range, and flushes. Until then a CPU that has written to a page before may
    /// write to it again: then the page is handed over with [`PageFlags::DIRTY`].
    pub fn unmap(
        &self,
        va: usize,
        len: usize,
        removed: &mut dyn FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        let end = checked_end(va, len);
        self.unmap_level(self.root(), 3, 0, va, end, removed)
    }

    fn unmap_level(
        &self,
        current: &'static Table,
        level: usize,
        base: usize,
        start: usize,
        end: usize,
        removed: &mut dyn FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        let span = PAGE_SIZE << (9 * level);
        if level == 0 {
            for (slot, va) in groups::take(current, base, start, end) {
                self.unmap_page(&current[slot], va, PageSize::Size4K, removed);
            }
            return Ok(());
        }
        for (slot, va) in slots(base, span, start, end) {
            let mut entry = current[slot].load(Ordering::Acquire);
            if entry == 0 {
                continue;
            }
            let covered = start <= va && va + span <= end;
            if level == 1 && is_growing(entry) && !covered {
                self.complete(va);
                entry = current[slot].load(Ordering::Acquire);
            }
            if level == 1 && is_growing(entry) && covered {
                percpu::count_page_table_change();
                let entry = self.take_growing(&current[slot]);
                // SAFETY: the page was given by `map_part`, and the block taken out.
                let page = unsafe { Page::from_entry(entry, PageSize::Size2M) };
                removed(va, page, flags_of(entry));
            } else if is_table(entry, level) {
                self.unmap_level(table(entry), level - 1, va, start, end, removed)?;
                // The root's tables stay: there are at most 256 of them.
                if covered && level < 3 {
                    current[slot].store(0, Ordering::Release);
                    self.retire(entry & ADDRESS);
                }
            } else if covered {
                self.unmap_page(&current[slot], va, PageSize::of_level(level), removed);
            } else {
                let below = split(&current[slot], entry, level)?;
                self.unmap_level(below, level - 1, va, start, end, removed)?;
            }
        }
        Ok(())
    }

    /// Removes the page of an entry, if there is one.
    fn unmap_page(
        &self,
        slot: &AtomicU64,
        va: usize,
        size: PageSize,
        removed: &mut dyn FnMut(usize, Page<Unmapped>, PageFlags),
    ) {
        if slot.load(Ordering::Relaxed) == 0 {
            return;
        }
        percpu::count_page_table_change();
        // A processor may set the dirty bit at any time before.
        let entry = slot.swap(0, Ordering::AcqRel);
        if entry != 0 {
            // SAFETY: of a program's pages `map` makes the entries, and this one was taken out by the swap.
            let page = unsafe { Page::from_entry(entry, size) };
            removed(va, page, flags_of(entry));
        }
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
        let span = PAGE_SIZE << (9 * level);
        if level == 0 {
            groups::of(current, base, start, end)
                .for_each(|(slot, _)| protect_page(&current[slot], level, flags));
            return Ok(());
        }
        for (slot, va) in slots(base, span, start, end) {
            let mut entry = current[slot].load(Ordering::Acquire);
            if entry == 0 {
                continue;
            }
            let covered = start <= va && va + span <= end;
            // Some processors cannot bear that what they execute becomes a large page (Intel's erratum of the instruction TLB).
            if level == 1 && is_growing(entry) && (!covered || flags.contains(PageFlags::EXEC)) {
                self.complete(va);
                entry = current[slot].load(Ordering::Acquire);
            }
            if level == 1 && is_growing(entry) {
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

    fn retire(&self, pa: u64) {
        let mut retired = self.retired.lock();
        retired.push(pa, tlb::begin_lazy());
        // Two for each that comes: the list gets shorter as soon as CPUs have flushed, and the work here is bounded.
        let completed = tlb::completed().through();
        for _ in 0..2 {
            if let Some(pa) = retired.pop(completed) {
                // SAFETY: it was taken out, and every CPU has flushed since.
                unsafe { free_table(pa) };
            }
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

/// The slots of a table whose first address is `base` that overlap `start..end`, with the address of each.
fn slots(base: usize, span: usize, start: usize, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let first = start.saturating_sub(base) / span;
    let last = (end - base).div_ceil(span).min(512);
    (first..last).map(move |slot| (slot, base + slot * span))
}

/// Gives the page of an entry new flags, if there is one.
fn protect_page(slot: &AtomicU64, level: usize, flags: PageFlags) {
    let entry = slot.load(Ordering::Acquire);
    if entry != 0 {
        percpu::count_page_table_change();
        let new = leaf(entry & (ADDRESS | LENT), PageSize::of_level(level), flags);
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
    let span = PAGE_SIZE << (9 * level);
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

/// Replaces a large page by a table of 512 pages with the same flags.
fn split(slot: &AtomicU64, entry: u64, level: usize) -> Result<&'static Table, MapError> {
    let pa = new_table()?;
    let below = table(pa);
    let span = PAGE_SIZE as u64 * if level == 2 { 512 } else { 1 };
    let keep = entry & !ADDRESS & if level == 1 { !LARGE } else { !0 };
    for (part, small) in below.iter().enumerate() {
        small.store(((entry & ADDRESS) + part as u64 * span) | keep, Ordering::Relaxed);
    }
    groups::note_all(below);
    slot.store(pa | PRESENT | WRITABLE, Ordering::Release);
    Ok(below)
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
    use super::*;
    use crate::memory::layout::{DIRECT_MAP, KERNEL_BASE};

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
            tlb::note_fill_memory(range.start, range.end - range.start);
            map_direct(root, range, gigabyte_pages)?;
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
