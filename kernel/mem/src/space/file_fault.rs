// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page faults on files.
//!
//! A private mapping that can be written gets copies of its own, so there is no copy-on-write of single pages. One fault
//! fills an aligned window of 128 KiB around it, or 256 KiB when the pages before it are there already. Shared mappings, and
//! private ones that cannot be written, get the source's own frames: that of the fault, and those around it that the source
//! has at hand.

use alloc::sync::Arc;

use arrayvec::ArrayVec;
use hadal_hal::memory::frames::{Block, Lent};

use super::fault::Attempt;
use super::mmu::MapError;
use super::policy::Choice;
use super::source::{IoError, PageSource};
use super::vma::{Backing, Prot, Vma};
use super::{AddressSpace, FaultOutcome, Mmu, PAGE_SIZE};
use crate::frames::Frame;

/// Pages read at a time.
const WINDOW_PAGES: usize = 32;
/// Pages read at a time when reading seems to be sequential.
const SEQUENTIAL_PAGES: usize = 64;

/// Private copies of the pages `first..first + pages`.
pub(super) struct FilePlan {
    source: Arc<dyn PageSource>,
    /// File offset of the first page.
    offset: u64,
    first: usize,
    pages: usize,
    choice: Choice,
}

/// Most frames of a source that a fault maps.
const AROUND_PAGES: usize = 16;

/// A frame of the source, and its neighbours.
pub(super) struct SharedPlan {
    source: Arc<dyn PageSource>,
    offset: u64,
    /// First and last address of the neighbours.
    around: (usize, usize),
    writable: bool,
}

impl SharedPlan {
    #[inline(never)]
    pub(super) fn new(page: usize, vma: &Vma) -> Self {
        let source = source_of(vma).clone();
        let window = page & !(AROUND_PAGES * PAGE_SIZE - 1);
        let around = (window.max(vma.start), (window + AROUND_PAGES * PAGE_SIZE).min(vma.end));
        Self { source, offset: vma.offset_of(page), around, writable: vma.prot.contains(Prot::WRITE) }
    }
}

impl<M: Mmu> AddressSpace<M> {
    #[inline(never)]
    pub(super) fn plan_file(&self, page: usize, vma: &Vma) -> FilePlan {
        let present = |page: usize| self.mmu.lookup(page).is_some();
        let sequential = page > vma.start && present(page - PAGE_SIZE);
        let (from, to) = if sequential {
            (page, page.saturating_add(SEQUENTIAL_PAGES * PAGE_SIZE))
        } else {
            let window = page & !(WINDOW_PAGES * PAGE_SIZE - 1);
            (window, window.saturating_add(WINDOW_PAGES * PAGE_SIZE))
        };
        let (mut first, mut end) = (page, page + PAGE_SIZE);
        while first > from.max(vma.start) && !present(first - PAGE_SIZE) {
            first -= PAGE_SIZE;
        }
        while end < to.min(vma.end) && !present(end) {
            end += PAGE_SIZE;
        }
        let source = source_of(vma).clone();
        FilePlan {
            source,
            offset: vma.offset_of(first),
            first,
            pages: (end - first) / PAGE_SIZE,
            choice: Choice::for_mapping(vma),
        }
    }

    #[inline(never)]
    pub(super) fn fill_from_file(&self, page: usize, mut plan: FilePlan) -> Attempt {
        let Some(frames) = self.frames_for(page, &mut plan) else { return Attempt::NoMemory };
        self.counters.count_file_read();
        let blocks: ArrayVec<&Block, SEQUENTIAL_PAGES> = frames.iter().map(|frame| &**frame).collect();
        let read = match plan.source.read_frames(plan.offset, &blocks) {
            Ok(read) => read.min(blocks.len() * PAGE_SIZE),
            Err(IoError::NoMemory) => return Attempt::NoMemory,
            Err(IoError::Failed) => return Attempt::Over(FaultOutcome::Io),
        };
        if plan.first + read <= page {
            return Attempt::Over(FaultOutcome::BeyondEnd);
        }
        let tail = read % PAGE_SIZE;
        if tail != 0 {
            blocks[read / PAGE_SIZE].zero(tail, PAGE_SIZE - tail);
        }
        drop(blocks);
        let inner = self.inner.read();
        let filled = frames.into_iter().take(read.div_ceil(PAGE_SIZE));
        let mut outcome = Attempt::Again;
        for (at, frame) in (plan.first..).step_by(PAGE_SIZE).zip(filled) {
            let offset = plan.offset + (at - plan.first) as u64;
            let vma = inner.map.find(at).filter(|vma| {
                !vma.prot.is_empty()
                    && vma.owns_frames()
                    && shows(vma, &plan.source)
                    && vma.offset_of(at) == offset
            });
            let Some(vma) = vma else { continue };
            match (self.install(vma, at, frame), at == page) {
                (Ok(()) | Err(MapError::AlreadyMapped), true) => {
                    outcome = Attempt::Over(FaultOutcome::Resolved)
                }
                (Err(MapError::NoMemory), true) => outcome = Attempt::NoMemory,
                (_, false) => {}
            }
        }
        outcome
    }

    /// Takes frames for a plan; when memory is short, for the page of the fault alone.
    fn frames_for(&self, page: usize, plan: &mut FilePlan) -> Option<ArrayVec<Frame, SEQUENTIAL_PAGES>> {
        let (choice, first) = (plan.choice.clone(), plan.first);
        let take = |at: usize| choice.take(self.frames, 0, at);
        let mut frames: ArrayVec<Frame, SEQUENTIAL_PAGES> =
            (0..plan.pages).map_while(|index| take(first + index * PAGE_SIZE)).collect();
        if frames.len() < plan.pages {
            frames.truncate(1);
            plan.offset += (page - plan.first) as u64;
            (plan.first, plan.pages) = (page, 1);
        }
        (!frames.is_empty()).then_some(frames)
    }

    #[inline(never)]
    pub(super) fn map_shared(&self, page: usize, plan: SharedPlan) -> Attempt {
        let index = plan.offset / PAGE_SIZE as u64;
        let (start, end) = plan.around;
        let pages = |bytes: usize| (bytes / PAGE_SIZE) as u64;
        let around = index - pages(page - start)..index + pages(end - page);
        let mut frames = ArrayVec::<(usize, Lent), AROUND_PAGES>::new();
        let given = plan.source.shared_frames(index, around.clone(), plan.writable, &mut |found, frame| {
            if around.contains(&found) {
                // A source that gives a page twice only loses a neighbour.
                let _ = frames.try_push((start + (found - around.start) as usize * PAGE_SIZE, frame));
            }
        });
        match given {
            Ok(true) => {}
            Ok(false) => return Attempt::Over(FaultOutcome::BeyondEnd),
            Err(IoError::NoMemory) => return Attempt::NoMemory,
            Err(IoError::Failed) => return Attempt::Over(FaultOutcome::Io),
        }
        let inner = self.inner.read();
        let vma = inner.map.find(page).filter(|vma| {
            !vma.prot.is_empty()
                && !vma.owns_frames()
                && shows(vma, &plan.source)
                && vma.offset_of(page) == plan.offset
                // A mapping that has become writable meanwhile needs a frame that the source knows to be.
                && (plan.writable || !vma.prot.contains(Prot::WRITE))
        });
        let Some(vma) = vma else { return Attempt::Again };
        let (mut outcome, mut resident) = (Attempt::Again, 0);
        let here = frames.into_iter().filter(|(at, _)| vma.start <= *at && *at < vma.end);
        self.mmu.map_lent(here, vma.prot.page_flags(), &mut |at, mapped| {
            resident += if mapped.is_ok() { PAGE_SIZE } else { 0 };
            match (mapped, at == page) {
                (Ok(()) | Err(MapError::AlreadyMapped), true) => {
                    outcome = Attempt::Over(FaultOutcome::Resolved)
                }
                (Err(MapError::NoMemory), true) => outcome = Attempt::NoMemory,
                (_, false) => {}
            }
        });
        self.counters.add_resident(resident, false);
        outcome
    }
}

fn source_of(vma: &Vma) -> &Arc<dyn PageSource> {
    match &vma.backing {
        Backing::File { source, .. } => source,
        Backing::Anonymous => unreachable!("planned for a file"),
    }
}

/// Whether a mapping shows this file.
fn shows(vma: &Vma, source: &Arc<dyn PageSource>) -> bool {
    matches!(&vma.backing, Backing::File { source: shown, .. } if Arc::ptr_eq(shown, source))
}
