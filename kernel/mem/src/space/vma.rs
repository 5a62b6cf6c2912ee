// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One mapping: a page-aligned range of the window with one protection and one source of content.

use alloc::sync::Arc;
use core::fmt;

use bitflags::bitflags;

use super::mmu::PageFlags;
use super::policy::Policy;
use super::source::{PageSource, SourceId};
use super::{FaultAccess, LARGE_BYTES};

bitflags! {
    /// What a program may do with a mapping; the bits are Linux's `PROT_*`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct Prot: u8 {
        /// It may be read.
        const READ = 1;
        /// It may be written.
        const WRITE = 2;
        /// It may be executed.
        const EXEC = 4;
    }
}

impl Prot {
    /// Whether the processor would let `access` happen: x86-64 has no page that can be written or executed but not read.
    pub fn allows(self, access: FaultAccess) -> bool {
        match access {
            FaultAccess::Read => !self.is_empty(),
            FaultAccess::Write => self.contains(Self::WRITE),
            FaultAccess::Exec => self.contains(Self::EXEC),
        }
    }

    /// The same for the page table.
    pub fn page_flags(self) -> PageFlags {
        let mut flags = PageFlags::empty();
        flags.set(PageFlags::READ, !self.is_empty());
        flags.set(PageFlags::WRITE, self.contains(Self::WRITE));
        flags.set(PageFlags::EXEC, self.contains(Self::EXEC));
        flags
    }
}

bitflags! {
    /// Properties of a mapping besides protection.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub struct VmaFlags: u8 {
        /// A stack (`MAP_STACK`, or the program's first): touched here and there, so only 4 KiB pages.
        const STACK = 1;
        /// `MADV_NOHUGEPAGE`: only 4 KiB pages.
        const NO_HUGE = 2;
        /// `MADV_HUGEPAGE`: 2 MiB pages where possible; this is the default anyway.
        const HUGE = 4;
        /// `MAP_NORESERVE`.
        const NO_RESERVE = 8;
        /// It is locked.
        const LOCKED = 16;
        /// Locked pages are filled when they are touched, not before.
        const LOCKED_ON_FAULT = 32;
        /// `MADV_DONTFORK`: a copy of the window does not have it.
        const DONT_FORK = 64;
        /// `MADV_WIPEONFORK`: a copy of the window has it without content.
        const WIPE_ON_FORK = 128;
    }
}

/// The last column of `/proc/self/maps`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Name {
    /// Nothing.
    #[default]
    None,
    /// A name in brackets, such as `[heap]`.
    Static(&'static str),
    /// A file.
    Path(Arc<str>),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Static(name) => f.write_str(name),
            Self::Path(path) => f.write_str(path),
        }
    }
}

/// Where the content of a mapping comes from.
pub(super) enum Backing {
    /// Zeros.
    Anonymous,
    /// A file, or memory that processes share, from `offset` on: a copy of each page, or the file's own frames. What is private and cannot be written
    /// shows the file's frames, too, until [`Vma::take_copies`]. The source knows of a mapping that is `counted`.
    File { source: Arc<dyn PageSource>, offset: u64, shared: bool, own_frames: bool, counted: bool },
}

impl Clone for Backing {
    #[inline]
    fn clone(&self) -> Self {
        let Self::File { source, offset, shared, own_frames, counted } = self else { return Self::Anonymous };
        if *counted {
            count(source, true);
        }
        let (offset, shared, own_frames, counted) = (*offset, *shared, *own_frames, *counted);
        Self::File { source: source.clone(), offset, shared, own_frames, counted }
    }
}

impl Drop for Backing {
    #[inline]
    fn drop(&mut self) {
        self.leave();
    }
}

/// Tells a source of a mapping more, or less. Few want to know.
#[cold]
#[inline(never)]
fn count(source: &Arc<dyn PageSource>, is_more: bool) {
    if is_more {
        source.mapping_added();
    } else {
        source.mapping_removed();
    }
}

impl Backing {
    /// The mapping of a file; the source is told if it wants to know.
    pub(super) fn file(source: Arc<dyn PageSource>, offset: u64, shared: bool, own_frames: bool) -> Self {
        let counted = source.counts_mappings();
        if counted {
            count(&source, true);
        }
        Self::File { source, offset, shared, own_frames, counted }
    }

    /// The source is told now that the mapping is gone, and not when it is dropped.
    #[inline]
    fn leave(&mut self) {
        if let Self::File { source, counted: counted @ true, .. } = self {
            *counted = false;
            count(source, false);
        }
    }

    /// What it is `delta` bytes further on.
    fn advanced(&self, delta: u64) -> Self {
        let mut moved = self.clone();
        match &mut moved {
            Self::Anonymous => {}
            Self::File { offset, .. } => *offset += delta,
        }
        moved
    }

    /// Whether `next` is what follows `len` bytes of this.
    fn continues_in(&self, len: u64, next: &Self) -> bool {
        match (self, next) {
            (Self::Anonymous, Self::Anonymous) => true,
            (
                Self::File { source, offset, shared, own_frames, .. },
                Self::File {
                    source: next,
                    offset: next_offset,
                    shared: next_shared,
                    own_frames: next_own,
                    ..
                },
            ) => {
                Arc::ptr_eq(source, next)
                    && (shared, own_frames) == (next_shared, next_own)
                    && offset + len == *next_offset
            }
            _ => false,
        }
    }
}

/// One mapping.
#[derive(Clone)]
pub(super) struct Vma {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) prot: Prot,
    /// What `mprotect` may grant.
    pub(super) max_prot: Prot,
    pub(super) flags: VmaFlags,
    pub(super) backing: Backing,
    pub(super) name: Name,
    /// Where its memory comes from.
    pub(super) policy: Option<Arc<Policy>>,
}

impl Vma {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Whether its frames belong to the address space (and not to a file's source).
    pub(super) fn owns_frames(&self) -> bool {
        match &self.backing {
            Backing::Anonymous => true,
            Backing::File { own_frames, .. } => *own_frames,
        }
    }

    /// Whether a private mapping would have to stop showing the file's frames if it could be written.
    pub(super) fn shows_frames_privately(&self) -> bool {
        matches!(self.backing, Backing::File { shared: false, own_frames: false, .. })
    }

    /// From now on each page is a copy. No page may be mapped.
    pub(super) fn take_copies(&mut self) {
        if let Backing::File { own_frames, .. } = &mut self.backing {
            *own_frames = true;
        }
    }

    /// It is no mapping of the window any more, and may wait for TLB flushes before it is dropped.
    pub(super) fn leave(&mut self) {
        self.backing.leave();
    }

    /// The file whose own frames are mapped.
    pub(super) fn shown_file(&self) -> Option<&Arc<dyn PageSource>> {
        match &self.backing {
            Backing::File { source, own_frames: false, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether it is data, as Linux counts it: private, may be written, and is not the first stack.
    #[inline(always)]
    pub(super) fn is_data(&self) -> bool {
        self.is_data_with(self.prot)
    }

    /// The same with another protection.
    #[inline(always)]
    pub(super) fn is_data_with(&self, prot: Prot) -> bool {
        is_data(prot, self.is_shared(), &self.name)
    }

    /// Bytes that count as data. Inline with all that it asks: one that is being taken out, and that other code looks at, is copied
    /// once more on its way.
    #[inline(always)]
    pub(super) fn data_bytes(&self) -> usize {
        if self.is_data() { self.len() } else { 0 }
    }

    pub(super) fn is_first_stack(&self) -> bool {
        is_first_stack(&self.name)
    }

    /// Whether it is memory that nobody else has.
    pub(super) fn is_private_memory(&self) -> bool {
        matches!(self.backing, Backing::Anonymous)
    }

    pub(super) fn is_anonymous(&self) -> bool {
        !matches!(self.backing, Backing::File { .. })
    }

    pub(super) fn is_shared(&self) -> bool {
        match &self.backing {
            Backing::Anonymous => false,
            Backing::File { shared, .. } => *shared,
        }
    }

    /// Whether the 2 MiB block at `block` may become one page.
    pub(super) fn allows_large(&self, block: usize) -> bool {
        self.may_have_large(block)
            && self.prot.contains(Prot::READ | Prot::WRITE)
            && !self.flags.contains(VmaFlags::NO_HUGE)
    }

    /// Whether the 2 MiB block at `block` may be one page: what it could be when the page was made, and no mapping that has
    /// been cut since keeps a part of a large page.
    pub(super) fn may_have_large(&self, block: usize) -> bool {
        self.is_of_large()
            && self.start <= block
            && block.checked_add(LARGE_BYTES).is_some_and(|end| end <= self.end)
    }

    /// Whether it is memory of a kind that large pages are made of.
    pub(super) fn is_of_large(&self) -> bool {
        self.is_anonymous() && !self.flags.contains(VmaFlags::STACK)
    }

    /// Whether its large pages are filled with the first touch: the program asks for it, or may run code there.
    pub(super) fn is_filled_whole(&self) -> bool {
        self.prot.contains(Prot::EXEC) || self.flags.contains(VmaFlags::HUGE)
    }

    /// Offset of `addr` in the file; 0 for anonymous memory.
    pub(super) fn offset_of(&self, addr: usize) -> u64 {
        match &self.backing {
            Backing::Anonymous => 0,
            Backing::File { offset, .. } => offset + (addr - self.start) as u64,
        }
    }

    /// Whether `len` bytes from `addr` on have offsets in the file.
    pub(super) fn has_offsets(&self, addr: usize, len: usize) -> bool {
        self.offset_of(addr).checked_add(len as u64).is_some()
    }

    /// Cuts the mapping at `at`; `self` keeps the lower part.
    pub(super) fn split_off(&mut self, at: usize) -> Self {
        let upper =
            Self { start: at, backing: self.backing.advanced((at - self.start) as u64), ..self.clone() };
        self.end = at;
        upper
    }

    /// Whether `next` begins where this ends and is the same in every other respect.
    pub(super) fn continues_in(&self, next: &Self) -> bool {
        self.end == next.start
            && (self.prot, self.max_prot, self.flags) == (next.prot, next.max_prot, next.flags)
            && self.name == next.name
            && self.policy == next.policy
            && self.backing.continues_in(self.len() as u64, &next.backing)
    }

    /// The file that a mapping shows; zeros for memory.
    pub(super) fn id(&self) -> SourceId {
        match &self.backing {
            Backing::File { source, .. } => source.id(),
            _ => SourceId::default(),
        }
    }

    pub(super) fn info(&self) -> VmaInfo {
        let (id, offset) = match &self.backing {
            Backing::Anonymous => (SourceId::default(), 0),
            Backing::File { source, offset, .. } => (source.id(), *offset),
        };
        VmaInfo {
            start: self.start,
            end: self.end,
            prot: self.prot,
            shared: self.is_shared(),
            flags: self.flags,
            offset,
            id,
            name: self.name.clone(),
        }
    }
}

fn is_first_stack(name: &Name) -> bool {
    matches!(name, Name::Static("[stack]"))
}

#[inline(always)]
fn is_data(prot: Prot, shared: bool, name: &Name) -> bool {
    prot.contains(Prot::WRITE) && !shared && !is_first_stack(name)
}

/// A line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmaInfo {
    /// First address.
    pub start: usize,
    /// First address after it.
    pub end: usize,
    /// Protection.
    pub prot: Prot,
    /// `MAP_SHARED`.
    pub shared: bool,
    /// Other properties.
    pub flags: VmaFlags,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The file; zeros for anonymous memory.
    pub id: SourceId,
    /// File name or name in brackets.
    pub name: Name,
}

impl VmaInfo {
    /// Whether it is data, which `RLIMIT_DATA` bounds.
    pub fn is_data(&self) -> bool {
        is_data(self.prot, self.shared, &self.name)
    }
}
