// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the address space needs from the machine: a page table and the TLBs.

use hadal_hal::memory::frames::{Block, Lent};
use hadal_hal::memory::paging::{self, OwnedPageTable, Stale, Switchable};
pub use hadal_hal::memory::paging::{
    BlockState, Growth, MapError, Page, PageFlags, PageSize, Place, Unmapped,
};
use hadal_hal::memory::tlb::{self, Flushed};

/// Which CPUs a flush concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Those that run the page table.
    Table,
    /// All: other page tables have had the same memory.
    Everywhere,
}

impl Reach {
    /// What pages ask for that wait for a flush.
    pub fn of(stale: &Stale) -> Self {
        if stale.was_shared() { Self::Everywhere } else { Self::Table }
    }
}

/// Page table and TLBs of the program's window. `map`, `map_part` and `grow` may race with each other; the address space excludes everything else on
/// the same range.
pub trait Mmu: Send + Sync {
    /// Maps one page; fails if the place is taken, and gives the page back.
    fn map<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)>;
    /// Maps frames that are lent at addresses of one block of 2 MiB, and tells `mapped` of each whether it is there now.
    fn map_lent(
        &self,
        frames: impl Iterator<Item = (usize, Lent)>,
        flags: PageFlags,
        mapped: &mut impl FnMut(usize, Result<(), MapError>),
    );
    /// Maps the 4 KiB part at `va` of a large page that is filled there, and the rest of it by [`Mmu::grow`] later; fails as
    /// `map` does. Until it has grown, its other parts are not there.
    fn map_part<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)>;
    /// One step to fill the page at `va` if it grows. May race with itself.
    fn grow(&self, va: usize, whole: bool) -> Growth;
    /// Makes the page at `va` a whole one if it grows.
    fn complete(&self, va: usize);
    /// The first block of 2 MiB in a range whose page grows.
    fn next_growing(&self, start: usize, end: usize) -> Option<usize>;
    /// The 2 MiB page around `va` if there is one, made whole: physical address and flags.
    fn large(&self, va: usize) -> Option<(u64, PageFlags)>;
    /// Whether a range may have pages; those that others map meanwhile need not count.
    fn may_have_pages(&self, va: usize, len: usize) -> bool;
    /// Removes all pages of a range and hands each to `removed`, with [`PageFlags::DIRTY`] if it was written. Fails only
    /// to split a large page at an edge.
    fn unmap(
        &self,
        va: usize,
        len: usize,
        removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError>;
    /// Makes the written 4 KiB pages of a range clean and hands each to `dirty`. After the next flush on every CPU, whoever
    /// writes to one makes it dirty again.
    fn take_dirty(&self, va: usize, len: usize, dirty: &mut dyn FnMut(usize));
    /// Gives the pages of a range new flags; without [`PageFlags::READ`] they stay, but every access faults. Fails only to
    /// split a large page at an edge.
    fn protect(&self, va: usize, len: usize, flags: PageFlags) -> Result<(), MapError>;
    /// The page at `va`: physical address of its first byte, size, flags.
    fn lookup(&self, va: usize) -> Option<(u64, PageSize, PageFlags)>;
    /// Copies bytes at an offset of the page at `va` to the same place in a block of its size; false if there is no such page.
    fn copy_page(&self, va: usize, offset: usize, len: usize, to: &Block) -> bool;
    /// Gives another page table its own pages of a range, which both share then; nothing is mapped there in the other one. Counts
    /// the bytes: after an error a part is shared.
    fn share(&self, other: &Self, va: usize, len: usize, bytes: &mut usize) -> Result<(), MapError>;
    /// Makes the page at `va` its own again, with these flags, if nobody else shares it any more. May race with itself.
    fn unshare(&self, va: usize, flags: PageFlags) -> bool;
    /// What is mapped in the 2 MiB block around `va`.
    fn block(&self, va: usize) -> BlockState;
    /// What is at `va`: what [`Mmu::lookup`] and [`Mmu::block`] say, at once.
    fn place(&self, va: usize) -> Place;

    /// Makes this CPU forget a range.
    fn flush_local(&self, va: usize, len: usize);
    /// Makes every CPU forget a range before it returns.
    fn shootdown(&self, va: usize, len: usize, reach: Reach) -> Flushed;
    /// Starts a flush that nobody waits for; it is over when [`Mmu::completed`] has reached the returned number.
    fn begin_lazy(&self) -> u64;
    /// The newest flush that every CPU has done.
    fn completed(&self, reach: Reach) -> Flushed;
    /// Asks the CPUs that lag behind to flush now.
    fn kick(&self);
}

/// A page table of the machine, and what its CPUs know of it.
pub struct KernelMmu {
    table: OwnedPageTable,
}

impl KernelMmu {
    /// A page table with nothing in its window.
    pub fn new() -> Result<Self, MapError> {
        paging::take().map(|table| Self { table })
    }

    /// What threads have to run on it.
    pub fn switchable(&self) -> Switchable {
        self.table.switchable()
    }
}

impl Mmu for KernelMmu {
    fn map<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        self.table.map(va, page, flags)
    }

    fn map_lent(
        &self,
        frames: impl Iterator<Item = (usize, Lent)>,
        flags: PageFlags,
        mapped: &mut impl FnMut(usize, Result<(), MapError>),
    ) {
        self.table.map_lent(frames, flags, mapped);
    }

    fn map_part<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        self.table.map_part(va, page, flags)
    }

    fn grow(&self, va: usize, whole: bool) -> Growth {
        self.table.grow(va, whole)
    }

    fn complete(&self, va: usize) {
        self.table.complete(va);
    }

    fn next_growing(&self, start: usize, end: usize) -> Option<usize> {
        self.table.next_growing(start, end)
    }

    fn large(&self, va: usize) -> Option<(u64, PageFlags)> {
        self.table.large(va)
    }

    fn may_have_pages(&self, va: usize, len: usize) -> bool {
        self.table.may_have_pages(va, len)
    }

    fn unmap(
        &self,
        va: usize,
        len: usize,
        removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        self.table.unmap(va, len, removed)
    }

    fn take_dirty(&self, va: usize, len: usize, dirty: &mut dyn FnMut(usize)) {
        self.table.take_dirty(va, len, dirty);
    }

    fn protect(&self, va: usize, len: usize, flags: PageFlags) -> Result<(), MapError> {
        self.table.protect(va, len, flags)
    }

    fn lookup(&self, va: usize) -> Option<(u64, PageSize, PageFlags)> {
        self.table.lookup(va)
    }

    fn copy_page(&self, va: usize, offset: usize, len: usize, to: &Block) -> bool {
        self.table.copy_page(va, offset, len, to)
    }

    fn share(&self, other: &Self, va: usize, len: usize, bytes: &mut usize) -> Result<(), MapError> {
        self.table.share(&other.table, va, len, bytes)
    }

    fn unshare(&self, va: usize, flags: PageFlags) -> bool {
        self.table.unshare(va, flags)
    }

    fn block(&self, va: usize) -> BlockState {
        self.table.block(va)
    }

    #[inline]
    fn place(&self, va: usize) -> Place {
        self.table.place(va)
    }

    fn flush_local(&self, va: usize, len: usize) {
        tlb::flush_local_range(va, len);
    }

    fn shootdown(&self, va: usize, len: usize, reach: Reach) -> Flushed {
        match reach {
            Reach::Table => tlb::shootdown(&self.table, va, len),
            Reach::Everywhere => tlb::shootdown_everywhere(va, len),
        }
    }

    fn begin_lazy(&self) -> u64 {
        tlb::begin_lazy()
    }

    fn completed(&self, reach: Reach) -> Flushed {
        match reach {
            Reach::Table => tlb::completed(&self.table),
            Reach::Everywhere => tlb::completed_everywhere(),
        }
    }

    fn kick(&self) {
        tlb::kick(&self.table);
    }
}
