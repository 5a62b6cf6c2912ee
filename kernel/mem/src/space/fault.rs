// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Page faults: first touch of anonymous memory, and what to do about the others.
//!
//! A fault is planned under the lock, carried out without it (frames are taken and zeroed, files read), and committed under
//! the lock if the mapping still is what the plan assumed; else it is planned anew. Pages are zeroed before anybody sees them.
//!
//! # How much a touch fills
//! - A page of 2 MiB if the aligned block lies wholly in one readable and writable mapping that is no stack, and nothing is
//!   there yet. It is filled little by little, since much memory is barely touched: the first touch fills 4 KiB of it, the
//!   second 64 KiB, the third all. At once if an idle CPU has filled one, if the program asks for it (`MADV_HUGEPAGE`, `MAP_POPULATE`, `mlock`), or runs code
//!   there. Memory that is opened in small pieces (malloc arenas) stays at 4 KiB pages.
//! - Else one page; or, when the page before it (or the one after it) is there already, the rest of its 64 KiB in that
//!   direction, up to the first page that is present. So a sequential pass faults every 16 pages, and a lone touch costs one.
//!   In a stack it is at most about as many pages as there are already: most threads use two or three.

use arrayvec::ArrayVec;

use super::file_fault::{FilePlan, SharedPlan};
use super::mmu::{BlockState, Growth, MapError, Page, PageFlags, Place};
use super::policy::Choice;
use super::vma::{Backing, Vma, VmaFlags};
use super::{AddressSpace, FaultAccess, FaultOutcome, LARGE_BYTES, LARGE_ORDER, Mmu, PAGE_SIZE, page_start};
use crate::frames::Frame;

/// Pages that a sequential touch fills at a time.
const AROUND_PAGES: usize = 16;

/// How a fault is going to be resolved.
enum Plan {
    Done(FaultOutcome),
    /// A page of 2 MiB, zeroed whole or where it is touched.
    Large {
        choice: Choice,
        touch: LargeTouch,
    },
    /// More of a page of 2 MiB.
    Grow,
    /// Zeroed 4 KiB pages.
    Small {
        first: usize,
        pages: usize,
        choice: Choice,
    },
    /// Private copies of a file's pages.
    File(FilePlan),
    /// A shared file's own frame.
    Shared(SharedPlan),
    /// The page is there, and its content is on its way to another frame.
    Moving,
    /// A copy of a page that other windows have, too.
    Copy(Choice),
    /// Such a copy is there, and nobody may write to it yet.
    Copied,
}

/// The first touch of a block of 2 MiB.
struct LargeTouch {
    block: usize,
    whole: bool,
    /// What the mapping permits.
    flags: PageFlags,
    /// Of the window: while it has this one, its mappings are those that were planned with.
    generation: u64,
}

/// What became of an attempt to carry out a plan.
pub(super) enum Attempt {
    /// The fault is over.
    Over(FaultOutcome),
    /// Things have changed: plan again.
    Again,
    /// No frame, or no page for a page table.
    NoMemory,
}

impl<M: Mmu> AddressSpace<M> {
    /// Resolves a fault at `addr`, or says why it cannot be.
    pub fn fault(&self, addr: usize, access: FaultAccess) -> FaultOutcome {
        self.resolve(addr, access, false)
    }

    /// The same; with `whole` a large page is filled at once.
    fn resolve(&self, addr: usize, access: FaultAccess, whole: bool) -> FaultOutcome {
        self.counters.count_fault();
        let page = page_start(addr);
        let mut allow_large = true;
        match self.attempt(page, access, whole, &mut allow_large) {
            Attempt::Over(outcome) => outcome,
            failed => self.resolve_after(failed, page, access, whole, allow_large),
        }
    }

    /// Goes on after a first attempt that has not resolved the fault.
    #[inline(never)]
    fn resolve_after(
        &self,
        mut attempt: Attempt,
        page: usize,
        access: FaultAccess,
        whole: bool,
        mut allow_large: bool,
    ) -> FaultOutcome {
        let mut reclaimed = false;
        loop {
            match attempt {
                Attempt::Over(outcome) => return outcome,
                Attempt::Again => {}
                Attempt::NoMemory if !reclaimed => {
                    reclaimed = true;
                    self.reclaim();
                }
                Attempt::NoMemory => return FaultOutcome::OutOfMemory,
            }
            attempt = self.attempt(page, access, whole, &mut allow_large);
        }
    }

    /// Makes a plan and carries it out.
    #[inline(never)]
    fn attempt(&self, page: usize, access: FaultAccess, whole: bool, allow_large: &mut bool) -> Attempt {
        match self.plan(page, access, *allow_large) {
            Plan::Done(outcome) => Attempt::Over(outcome),
            Plan::Large { choice, touch } => {
                // Whatever comes of it, the next plan is not to begin a large page.
                *allow_large = false;
                self.fill_large(page, &choice, LargeTouch { whole: whole || touch.whole, ..touch })
            }
            Plan::Grow => self.fill_growing(page, whole),
            Plan::Small { first, pages, choice } => self.fill_small(page, first, pages, &choice),
            Plan::File(plan) => self.fill_from_file(page, plan),
            Plan::Shared(plan) => self.map_shared(page, plan),
            Plan::Copy(choice) => self.copy_shared(page, &choice),
            Plan::Copied => {
                self.finish_copy(page);
                Attempt::Over(FaultOutcome::Resolved)
            }
            Plan::Moving => {
                self.wait_for_move(page);
                Attempt::Over(FaultOutcome::Resolved)
            }
        }
    }

    /// Fills the pages of a range that are not there yet, as a touch of each would (`MAP_POPULATE`).
    pub fn populate(&self, addr: usize, len: usize) -> Result<(), FaultOutcome> {
        let end = addr.saturating_add(len);
        let mut page = page_start(addr);
        while page < end {
            let present = {
                let inner = self.inner.read();
                let vma = inner.map.find(page).ok_or(FaultOutcome::NoMapping)?;
                if vma.prot.is_empty() {
                    return Err(FaultOutcome::Protection);
                }
                self.mmu.lookup(page).map(|(_, size, _)| size)
            };
            match present {
                Some(size) => page = (page & !(size.bytes() - 1)) + size.bytes(),
                None => match self.resolve(page, FaultAccess::Read, true) {
                    FaultOutcome::Resolved => {}
                    outcome => return Err(outcome),
                },
            }
        }
        Ok(())
    }

    fn plan(&self, page: usize, access: FaultAccess, allow_large: bool) -> Plan {
        let inner = self.inner.read();
        let Some(vma) = inner.map.find(page) else { return Plan::Done(FaultOutcome::NoMapping) };
        if !vma.prot.allows(access) {
            return Plan::Done(FaultOutcome::Protection);
        }
        let block = match self.mmu.place(page) {
            Place::Present(flags) => return self.plan_present(page, access, vma, flags),
            Place::Absent(block) => block,
        };
        match &vma.backing {
            Backing::File { own_frames: true, .. } => Plan::File(self.plan_file(page, vma)),
            Backing::File { .. } => Plan::Shared(SharedPlan::new(page, vma)),
            Backing::Anonymous => self.plan_anonymous(page, vma, block, allow_large, inner.generation),
        }
    }

    /// The page is there and its mapping permits the access: others have it, too, another CPU was faster, or this one's TLB is behind.
    #[inline(never)]
    fn plan_present(&self, page: usize, access: FaultAccess, vma: &Vma, flags: PageFlags) -> Plan {
        let (is_shared, writes) = (flags.contains(PageFlags::SHARED), access == FaultAccess::Write);
        if !flags.contains(PageFlags::READ) {
            return Plan::Moving;
        }
        if is_shared && writes {
            return self.take_back(page, vma).map_or(Plan::Done(FaultOutcome::Resolved), Plan::Copy);
        }
        self.mmu.flush_local(page, PAGE_SIZE);
        let permitted =
            vma.prot.page_flags().difference(if is_shared { PageFlags::WRITE } else { PageFlags::empty() });
        // Else the page table agrees with the access, so a second try meets the page as it should be.
        if writes && !flags.contains(permitted) { Plan::Copied } else { Plan::Done(FaultOutcome::Resolved) }
    }

    #[inline]
    fn plan_anonymous(
        &self,
        page: usize,
        vma: &Vma,
        state: BlockState,
        allow_large: bool,
        generation: u64,
    ) -> Plan {
        let block = page & !(LARGE_BYTES - 1);
        match state {
            BlockState::Growing => Plan::Grow,
            BlockState::Empty if allow_large && vma.allows_large(block) => {
                let (whole, flags) = (vma.is_filled_whole(), vma.prot.page_flags());
                let touch = LargeTouch { block, whole, flags, generation };
                Plan::Large { choice: Choice::for_mapping(vma), touch }
            }
            BlockState::Empty | BlockState::Taken => self.plan_small(page, vma),
        }
    }

    #[inline(never)]
    fn plan_small(&self, page: usize, vma: &Vma) -> Plan {
        let choice = Choice::for_mapping(vma);
        let present = |page: usize| self.mmu.lookup(page).is_some();
        let (first, pages) = if page > vma.start && present(page - PAGE_SIZE) {
            self.run_upwards(page, vma)
        } else if page + PAGE_SIZE < vma.end && present(page + PAGE_SIZE) {
            self.run_downwards(page, vma)
        } else {
            (page, 1)
        };
        Plan::Small { first, pages, choice }
    }

    /// First page and number of pages that a touch of `page` fills whose neighbour below is there.
    fn run_upwards(&self, page: usize, vma: &Vma) -> (usize, usize) {
        let present = |page: usize| self.mmu.lookup(page).is_some();
        let border = vma.end.min((page | (AROUND_PAGES * PAGE_SIZE - 1)) + 1);
        let most = (border - page) / PAGE_SIZE;
        let pages = (1..most).find(|&pages| present(page + pages * PAGE_SIZE)).unwrap_or(most);
        (page, pages)
    }

    /// The same where the neighbour above is there: a stack that grows, mostly.
    fn run_downwards(&self, page: usize, vma: &Vma) -> (usize, usize) {
        let present = |page: usize| self.mmu.lookup(page).is_some();
        let border = vma.start.max(page & !(AROUND_PAGES * PAGE_SIZE - 1));
        let mut most = (page - border) / PAGE_SIZE + 1;
        if vma.flags.contains(VmaFlags::STACK) {
            // At the distances 1, 2, 4, ...
            let mut there = 1;
            let is_there =
                |pages: usize| vma.end - page > pages * PAGE_SIZE && present(page + pages * PAGE_SIZE);
            while there < most && is_there(2 * there) {
                there *= 2;
            }
            most = most.min(there);
        }
        let pages = (1..most).find(|&pages| present(page - pages * PAGE_SIZE)).unwrap_or(most);
        (page - (pages - 1) * PAGE_SIZE, pages)
    }

    fn fill_large(&self, page: usize, choice: &Choice, touch: LargeTouch) -> Attempt {
        let block = touch.block;
        let prezeroed = choice.take_prezeroed(self.frames);
        let whole = touch.whole || prezeroed.is_some();
        let frame = match prezeroed {
            Some(frame) => frame,
            None => {
                // If there is no large frame, there may be small ones.
                let Some(frame) = choice.take(self.frames, LARGE_ORDER, block) else { return Attempt::Again };
                if whole {
                    frame.clear();
                } else {
                    frame.zero(page - block, PAGE_SIZE);
                }
                frame
            }
        };
        let inner = self.inner.read();
        let flags = if inner.generation == touch.generation {
            touch.flags
        } else {
            // Code does not grow, also where the mapping has become executable meanwhile.
            let fits = |vma: &&Vma| vma.allows_large(block) && (whole || !vma.is_filled_whole());
            let Some(vma) = inner.map.find(page).filter(fits) else { return Attempt::Again };
            vma.prot.page_flags()
        };
        let bytes = frame.bytes();
        let large = Page::from(frame.into_block());
        let mapped =
            if whole { self.mmu.map(block, large, flags) } else { self.mmu.map_part(page, large, flags) };
        // A page that is filled in part counts as a whole.
        let installed = self.count(bytes, mapped);
        match installed {
            Ok(()) => {
                self.counters.count_large_page();
                Attempt::Over(FaultOutcome::Resolved)
            }
            Err(MapError::AlreadyMapped | MapError::NoMemory) => Attempt::Again,
        }
    }

    /// Fills more of a page that grows. Those who change pages get the lock between two steps.
    #[inline(never)]
    fn fill_growing(&self, page: usize, whole: bool) -> Attempt {
        let mut seen = None;
        loop {
            let inner = self.inner.read();
            if seen != Some(inner.generation) {
                seen = Some(inner.generation);
                if inner.map.find(page).is_none_or(|vma| vma.prot.is_empty()) {
                    return Attempt::Again;
                }
            }
            match self.mmu.grow(page, whole) {
                Growth::None => return Attempt::Again,
                Growth::Partly => {}
                Growth::There => return Attempt::Over(FaultOutcome::Resolved),
            }
        }
    }

    #[inline(never)]
    fn fill_small(&self, page: usize, first: usize, pages: usize, choice: &Choice) -> Attempt {
        let Some(own) = choice.take(self.frames, 0, page) else { return Attempt::NoMemory };
        let mut frames = ArrayVec::<(usize, Frame), AROUND_PAGES>::new();
        frames.push((page, own));
        for other in (first..first + pages * PAGE_SIZE).step_by(PAGE_SIZE).filter(|&other| other != page) {
            let Some(frame) = choice.take(self.frames, 0, other) else { break };
            frames.push((other, frame));
        }
        for (_, frame) in &frames {
            frame.clear();
        }
        let inner = self.inner.read();
        let Some(vma) = inner.map.find(page) else { return Attempt::Again };
        if !vma.is_anonymous() || vma.prot.is_empty() {
            return Attempt::Again;
        }
        for (at, frame) in frames {
            let wanted = at == page;
            if at < vma.start || at >= vma.end {
                continue;
            }
            match self.install(vma, at, frame) {
                Err(MapError::NoMemory) if wanted => return Attempt::NoMemory,
                // If the page itself was taken, another CPU was faster.
                Ok(()) | Err(MapError::AlreadyMapped | MapError::NoMemory) => {}
            }
        }
        Attempt::Over(FaultOutcome::Resolved)
    }

    /// Maps a frame of the window's own; on failure it is freed. The lock is held.
    pub(super) fn install(&self, vma: &Vma, at: usize, frame: Frame) -> Result<(), MapError> {
        let bytes = frame.bytes();
        self.count(bytes, self.mmu.map(at, Page::from(frame.into_block()), vma.prot.page_flags()))
    }

    /// Counts what was mapped, or frees it.
    fn count(&self, bytes: usize, mapped: Result<(), (MapError, Page)>) -> Result<(), MapError> {
        match mapped {
            Ok(()) => {
                self.counters.add_resident(bytes, true);
                Ok(())
            }
            Err((error, page)) => {
                self.give_back(page);
                Err(error)
            }
        }
    }

    #[cold]
    fn give_back(&self, page: Page) {
        page.into_block().into_iter().for_each(|block| self.frames.free(block));
    }
}
