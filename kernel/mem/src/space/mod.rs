// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The program's window: the low half of the address space, as its programs see it.
//!
//! [`AddressSpace`] keeps the mappings (`map.rs`, `vma.rs`), and changes page table and TLBs through [`Mmu`] (`mmu.rs`). One
//! operation is one file: `create.rs` (mmap), `unmap.rs`, `protect.rs`, `remap.rs`, `advise.rs`, `brk.rs`, `fork.rs`, `fault.rs`.
//! Content of files comes from a [`PageSource`], and so does memory that processes share (`shared_memory.rs`). Frames that were unmapped pass through `quarantine.rs`.
//!
//! # Rules
//! - A mapping costs nothing until it is touched. [`AddressSpace::fault`] fills one page, a few neighbours, or 2 MiB.
//! - One lock guards the mappings. Faults hold it for reading while they install pages (by compare-and-swap, so they may race
//!   with each other); everything that removes or changes pages holds it for writing. While it is held nobody waits: files
//!   are read, other CPUs' TLBs flushed and frames zeroed outside of it.
//! - A page that moves to another zone (`migrate.rs`) cannot be touched for that time; its content is copied in small pieces, and
//!   taken only if nobody has held the lock for writing meanwhile. Who touches it may take it back.
//! - A right that was taken away is gone on every CPU when the call returns. An unmapped range may be reached by other CPUs
//!   until they flush; its addresses and frames are used again only when all have.
//! - All calls are for process context with interrupts on.

mod advise;
mod brk;
mod create;
mod fault;
mod file_fault;
mod fork;
mod limits;
mod lock;
mod map;
mod migrate;
mod mmu;
mod pages;
mod policy;
mod protect;
mod quarantine;
mod query;
mod relocate;
mod remap;
mod room;
mod shared_memory;
mod source;
mod stats;
#[cfg(test)]
mod tests;
mod tree;
mod unmap;
mod vma;
mod write_back;

use core::sync::atomic::{AtomicU64, AtomicUsize};

use hadal_hal::memory::frames::FrameSource;
use hadal_hal::memory::paging::Switchable;
use hadal_hal::memory::{fallible, layout};
use hadal_hal::sync::{Rank, RwSpinLock, WriteGuard};

pub use advise::Advice;
pub use create::{MapBacking, MapRequest, Placement};
pub use limits::{Limits, MappedLimits};
pub use lock::Lock;
pub use migrate::Moved;
pub use mmu::{
    BlockState, Growth, KernelMmu, MapError, Mmu, Page, PageFlags, PageSize, Place, Reach, Unmapped,
};
pub use policy::{Mode, Policy, Zones, use_thread_policies};
pub use query::SharedKey;
pub use remap::{RemapMode, RemapRequest};
pub use shared_memory::SharedMemory;
pub use source::{IoError, PageSource, SourceId};
pub use stats::SpaceStats;
pub use vma::{Name, Prot, VmaFlags, VmaInfo};

use crate::frames::FrameAllocator;
use map::VmaMap;
use quarantine::Quarantine;
use stats::Counters;

/// Bytes in a base page.
pub const PAGE_SIZE: usize = layout::PAGE_SIZE;
/// Bytes in a large page.
pub(crate) const LARGE_BYTES: usize = 2 << 20;
/// Order of a large page in the frame allocator.
pub(crate) const LARGE_ORDER: u8 = 9;
/// Lowest address that can be mapped.
pub const WINDOW_START: usize = layout::PROGRAM_START;
/// First address past the window.
pub const WINDOW_END: usize = layout::PROGRAM_END;
/// Most mappings (`vm.max_map_count`): enough for a hundred thousand stacks with their guards.
pub const MAX_MAPPINGS: usize = 262_144;

/// A program's window.
pub type ProgramSpace = AddressSpace<KernelMmu>;

impl ProgramSpace {
    /// What threads have to run in it.
    pub fn switchable(&self) -> Switchable {
        self.mmu.switchable()
    }

    /// Makes every CPU that runs a thread in it take an interrupt before it returns (`membarrier`).
    pub fn interrupt_cpus(&self) {
        // A shootdown of nothing.
        let _ = self.mmu.shootdown(0, 0, Reach::Table);
    }
}

/// Where things go in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// New mappings go below this address, the highest first.
    pub mmap_top: usize,
}

impl Default for Layout {
    /// Leaves 256 MiB at the top for the first stack.
    fn default() -> Self {
        Self { mmap_top: (WINDOW_END - (256 << 20)) & !(LARGE_BYTES - 1) }
    }
}

/// How memory was, or will be, accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAccess {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Executed.
    Exec,
}

/// What came of a page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum FaultOutcome {
    /// The access can be tried again.
    Resolved,
    /// Nothing is mapped there (`SIGSEGV`, `SEGV_MAPERR`).
    NoMapping,
    /// The mapping does not permit it (`SIGSEGV`, `SEGV_ACCERR`).
    Protection,
    /// Past the end of the mapped file (`SIGBUS`, `BUS_ADRERR`).
    BeyondEnd,
    /// No memory for the page.
    OutOfMemory,
    /// The file could not be read (`SIGBUS`).
    Io,
}

/// Why an operation on the window failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceError {
    /// An argument makes no sense (`EINVAL`).
    Invalid,
    /// Out of memory, of addresses, or of mappings (`ENOMEM`).
    NoMemory,
    /// Part of the range is not mapped (`ENOMEM`; `EFAULT` for `mremap` is [`SpaceError::BadAddress`]).
    NoMapping,
    /// Below the lowest address that can be mapped (`EPERM`).
    Forbidden,
    /// The file was not opened for that (`EACCES`).
    Access,
    /// Something is mapped there already (`EEXIST`).
    Exists,
    /// No mapping contains the old range (`EFAULT`).
    BadAddress,
    /// The file cannot be mapped in that way (`ENODEV`).
    NotSupported,
    /// Writing back failed (`EIO`).
    Io,
    /// More would be locked than is allowed (`EAGAIN`).
    LockLimit,
}

/// A window: mappings, pages, and what waits to be freed.
pub struct AddressSpace<M: Mmu> {
    mmu: M,
    frames: &'static FrameAllocator,
    inner: RwSpinLock<Inner>,
    counters: Counters,
    /// Pieces of pages that were copied to other zones: who waits for such a page sees that it makes progress.
    pieces_copied: AtomicUsize,
    /// Forks after which every CPU has lost its rights to write to what is shared.
    forks_flushed: AtomicU64,
}

struct Inner {
    map: VmaMap,
    quarantine: Quarantine,
    /// Advanced by everybody who may change pages.
    generation: u64,
    /// How often the window was copied.
    forks: u64,
    /// First and current program break.
    brk: Option<(usize, usize)>,
    /// Bytes of the first stack.
    first_stack: usize,
    /// How new mappings are locked.
    future: Option<Lock>,
}

impl<M: Mmu> AddressSpace<M> {
    /// An empty window on `mmu`'s page table, with frames from `frames`.
    pub fn new(mmu: M, frames: &'static FrameAllocator, layout: Layout) -> Self {
        let inner = Inner {
            map: VmaMap::new(layout.mmap_top),
            quarantine: Quarantine::new(),
            generation: 0,
            forks: 0,
            brk: None,
            first_stack: 0,
            future: None,
        };
        Self {
            mmu,
            frames,
            inner: RwSpinLock::ranked(Rank::AddressSpace, inner),
            counters: Counters::new(),
            pieces_copied: AtomicUsize::new(0),
            forks_flushed: AtomicU64::new(0),
        }
    }

    /// Whether there may be two more mappings, as after cutting one. Mappings take kernel memory, so when programs can have
    /// no more memory they can have no more mappings either.
    fn admits_mappings(&self, inner: &Inner) -> bool {
        inner.map.count() + 2 <= MAX_MAPPINGS && !self.frames.is_short() && !fallible::is_failure_injected()
    }

    /// Whether a program may have more to touch. It is refused while there still is memory for the pages of what it has: an
    /// error it can live with, a page that it cannot have is its end.
    #[inline(always)]
    fn admits_growth(&self, inner: &Inner) -> bool {
        inner.map.count() + 2 <= MAX_MAPPINGS
            && !fallible::is_failure_injected()
            && self.frames.has_spare(PAGE_SIZE)
    }

    /// The lock for writing. Whoever has copied something without it sees that it may have changed.
    fn change(&self) -> WriteGuard<'_, Inner> {
        let mut inner = self.inner.write();
        inner.generation += 1;
        inner
    }
}

/// The first address of the page that contains `addr`.
const fn page_start(addr: usize) -> usize {
    addr & !(PAGE_SIZE - 1)
}

/// The range of `len` bytes, rounded up to pages, from a page-aligned address.
fn page_range(addr: usize, len: usize) -> Option<(usize, usize)> {
    if !addr.is_multiple_of(PAGE_SIZE) {
        return None;
    }
    let end = addr.checked_add(len.checked_next_multiple_of(PAGE_SIZE)?)?;
    Some((addr, end))
}

/// The same, if the range is not empty and can be mapped at all.
fn window_range(addr: usize, len: usize) -> Option<(usize, usize)> {
    page_range(addr, len).filter(|&(start, end)| start >= WINDOW_START && start < end && end <= WINDOW_END)
}
