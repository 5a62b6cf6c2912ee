// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A simulated page table, with TLBs that forget nothing by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use hadal_hal::memory::frames::{self, Block, Lent};
use hadal_hal::memory::tlb::Flushed;

use super::super::mmu::{Page, Unmapped};
use super::super::*;
use super::machine::{LARGE, PAGE};
use crate::frames::FrameAllocator;

type Entry = (u64, PageSize, PageFlags);

/// The page tables of one machine.
type Family = Arc<Mutex<Vec<Weak<Mutex<SimState>>>>>;

/// What [`Sim`] keeps.
#[derive(Default)]
pub(super) struct SimState {
    pages: BTreeMap<usize, (Page<Unmapped>, PageFlags)>,
    /// 2 MiB blocks that have a table of small pages, perhaps an empty one.
    tables: BTreeSet<usize>,
    /// Large pages that grow, by address: the parts that are there.
    growing: BTreeMap<usize, BTreeSet<usize>>,
    /// For each CPU: page, and what it was when the CPU looked.
    tlbs: Vec<BTreeMap<usize, Entry>>,
    seen: Vec<u64>,
    generation: u64,
    /// The CPU that acts.
    pub(super) cpu: usize,
    /// Tables that can still be made.
    budget: usize,
    /// Hears of large pages that were shared and are split.
    pub(super) frames: Option<&'static FrameAllocator>,
    /// All windows on the same machine, this one among them.
    family: Family,
    pub(super) shootdowns: usize,
    pub(super) kicks: usize,
}

/// A page table with TLBs that forget nothing by themselves.
#[derive(Clone)]
pub(super) struct Sim(Arc<Mutex<SimState>>);

impl Sim {
    pub(super) fn new(cpus: usize) -> Self {
        let state = SimState {
            tlbs: vec![BTreeMap::new(); cpus],
            seen: vec![0; cpus],
            budget: usize::MAX,
            ..SimState::default()
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SimState> {
        self.0.lock().expect("simulation")
    }

    /// The window is on the same machine as another one.
    pub(super) fn join(&self, other: &Self) {
        let family = other.state().family.clone();
        let mut members = family.lock().expect("family");
        if members.is_empty() {
            members.push(Arc::downgrade(&other.0));
        }
        members.push(Arc::downgrade(&self.0));
        drop(members);
        self.state().family = family;
    }

    pub(super) fn cpus(&self) -> usize {
        self.state().tlbs.len()
    }

    pub(super) fn set_budget(&self, tables: usize) {
        self.state().budget = tables;
    }
}

impl SimState {
    fn block(va: usize) -> usize {
        va & !(LARGE - 1)
    }

    fn lookup(&self, va: usize) -> Option<(usize, Entry)> {
        let (&at, (page, flags)) = self.pages.range(..=va).next_back()?;
        if let Some(parts) = self.growing.get(&at).filter(|_| va < at + LARGE) {
            let part = page_start(va);
            let entry = (page.phys() + (part - at) as u64, PageSize::Size4K, *flags);
            return parts.contains(&part).then_some((part, entry));
        }
        (va < at + page.size().bytes()).then(|| (at, (page.phys(), page.size(), *flags)))
    }

    /// Zeroes the parts of a page that grows in a range, but for those that are there.
    fn fill(&mut self, block: usize, start: usize, end: usize) {
        let pa = self.pages[&block].0.phys();
        let Some(parts) = self.growing.get_mut(&block) else { return };
        for part in (start..end).step_by(PAGE) {
            if parts.insert(part) {
                frames::host_write(pa + (part - block) as u64, &[0; PAGE]);
            }
        }
    }

    fn complete(&mut self, va: usize) {
        let block = Self::block(va);
        if self.growing.contains_key(&block) {
            self.fill(block, block, block + LARGE);
            self.growing.remove(&block);
        }
    }

    fn make_table(&mut self, block: usize) -> Result<(), MapError> {
        if !self.tables.contains(&block) {
            self.budget = self.budget.checked_sub(1).ok_or(MapError::NoMemory)?;
            self.tables.insert(block);
        }
        Ok(())
    }

    /// Splits the large page that `at` is in the middle of.
    fn split(&mut self, at: usize) -> Result<(), MapError> {
        if !at.is_multiple_of(LARGE) {
            self.complete(at);
        }
        match self.lookup(at) {
            Some((start, (_, PageSize::Size2M, flags))) if start != at => {
                self.make_table(start)?;
                let (page, _) = self.pages.remove(&start).expect("a large page");
                let frames = self.frames;
                let first =
                    |pa, order| frames.expect("pages are shared where frames are known").split(pa, order);
                for (part, page) in page.split(first).enumerate() {
                    self.pages.insert(start + part * PAGE, (page, flags));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn keys(&self, va: usize, len: usize) -> Vec<usize> {
        self.pages.range(va..va + len).map(|(&at, _)| at).collect()
    }

    pub(super) fn page_size(&self, va: usize) -> Option<PageSize> {
        self.lookup(va).map(|(_, entry)| entry.1)
    }

    /// A CPU flushes because of something else that it does.
    pub(super) fn flush_cpu(&mut self, cpu: usize) {
        self.tlbs[cpu].clear();
        self.seen[cpu] = self.generation;
    }

    /// One access of one CPU; the address of the byte in physical memory, or `None` for a fault.
    pub(super) fn access(&mut self, cpu: usize, va: usize, access: FaultAccess) -> Option<u64> {
        let allowed = |flags: PageFlags| {
            flags.contains(match access {
                FaultAccess::Read => PageFlags::READ,
                FaultAccess::Write => PageFlags::READ | PageFlags::WRITE,
                FaultAccess::Exec => PageFlags::READ | PageFlags::EXEC,
            })
        };
        let page = page_start(va);
        let entry = match self.tlbs[cpu].get(&page) {
            Some(&entry) if allowed(entry.2) => entry,
            _ => {
                let (start, (pa, size, flags)) = self.lookup(va)?;
                let entry = (pa + (page - start) as u64, size, flags);
                if !allowed(flags) {
                    self.tlbs[cpu].remove(&page);
                    return None;
                }
                self.tlbs[cpu].insert(page, entry);
                entry
            }
        };
        // A processor sets the dirty bit unless its TLB says that it is set.
        let noted = self.tlbs[cpu].get(&page).is_some_and(|noted| noted.2.contains(PageFlags::DIRTY));
        if access == FaultAccess::Write && !noted {
            let (start, _) = self.lookup(va)?;
            let start = if self.pages.contains_key(&start) { start } else { Self::block(va) };
            self.pages.get_mut(&start).expect("page").1.insert(PageFlags::DIRTY);
            self.tlbs[cpu].get_mut(&page).expect("page").2.insert(PageFlags::DIRTY);
        }
        Some(entry.0 + (va - page) as u64)
    }

    /// What every CPU may believe must be true, or at least harmless.
    pub(super) fn check_tlbs(&self, frames: &FrameAllocator, is_mapped: impl Fn(usize) -> bool) {
        for (cpu, tlb) in self.tlbs.iter().enumerate() {
            for (&page, &(pa, _, flags)) in tlb {
                assert!(frames.is_out(pa), "CPU {cpu} can reach freed memory {pa:#x} at {page:#x}");
                if is_mapped(page) {
                    let (start, (now, _, now_flags)) = self.lookup(page).unwrap_or_else(|| {
                        panic!("CPU {cpu} has a page at {page:#x} that is gone");
                    });
                    assert_eq!(pa, now + (page - start) as u64, "CPU {cpu} sees an old page at {page:#x}");
                    let rights = flags.difference(PageFlags::DIRTY | PageFlags::SHARED);
                    assert!(now_flags.contains(rights), "CPU {cpu} has rights at {page:#x} that are gone");
                }
            }
        }
    }
}

/// What is shared is not written.
fn permitted(page: &Page<Unmapped>, mut flags: PageFlags) -> PageFlags {
    if page.is_shared() {
        flags.remove(PageFlags::WRITE);
        flags.insert(PageFlags::SHARED);
    }
    flags
}

impl Mmu for Sim {
    fn map<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        let mut state = self.state();
        let size = page.size();
        assert!(va.is_multiple_of(size.bytes()));
        let block = SimState::block(va);
        let taken = match size {
            PageSize::Size4K => state.lookup(va).is_some() || state.growing.contains_key(&block),
            _ => state.tables.contains(&block) || state.pages.contains_key(&block),
        };
        if taken {
            return Err((MapError::AlreadyMapped, page));
        }
        if size == PageSize::Size4K
            && let Err(error) = state.make_table(block)
        {
            return Err((error, page));
        }
        let page = page.as_unmapped();
        let flags = permitted(&page, flags);
        state.pages.insert(va, (page, flags));
        Ok(())
    }

    fn map_part<S>(&self, va: usize, page: Page<S>, flags: PageFlags) -> Result<(), (MapError, Page<S>)> {
        assert!(page.size() == PageSize::Size2M);
        let block = SimState::block(va);
        self.map(block, page, flags)?;
        self.state().growing.insert(block, BTreeSet::from([va]));
        Ok(())
    }

    fn grow(&self, va: usize, whole: bool) -> Growth {
        const STEP: usize = 128 * PAGE;
        let mut state = self.state();
        let block = SimState::block(va);
        let Some(parts) = state.growing.get(&block) else { return Growth::None };
        if parts.len() == 1 && !whole {
            let first = va & !(16 * PAGE - 1);
            state.fill(block, first, first + 16 * PAGE);
            return Growth::There;
        }
        let missing = (block..block + LARGE).step_by(PAGE).find(|part| !parts.contains(part));
        match missing.filter(|missing| missing + STEP < block + LARGE) {
            Some(missing) => {
                state.fill(block, missing, missing + STEP);
                Growth::Partly
            }
            None => {
                state.complete(va);
                Growth::There
            }
        }
    }

    fn complete(&self, va: usize) {
        self.state().complete(va);
    }

    fn next_growing(&self, start: usize, end: usize) -> Option<usize> {
        self.state().growing.range(start..end).next().map(|(&block, _)| block)
    }

    fn map_lent(
        &self,
        frames: impl Iterator<Item = (usize, Lent)>,
        flags: PageFlags,
        mapped: &mut impl FnMut(usize, Result<(), MapError>),
    ) {
        for (va, frame) in frames {
            mapped(va, self.map(va, Page::from(frame), flags).map_err(|(error, _)| error));
        }
    }

    fn large(&self, va: usize) -> Option<(u64, PageFlags)> {
        let mut state = self.state();
        state.complete(va);
        let (_, (pa, size, flags)) = state.lookup(va)?;
        (size == PageSize::Size2M).then_some((pa, flags))
    }

    fn may_have_pages(&self, va: usize, len: usize) -> bool {
        let state = self.state();
        let grows = state.growing.keys().any(|&block| block < va + len && va < block + LARGE);
        grows || state.lookup(va).is_some() || !state.keys(va, len).is_empty()
    }

    fn unmap(
        &self,
        va: usize,
        len: usize,
        removed: &mut impl FnMut(usize, Page<Unmapped>, PageFlags),
    ) -> Result<(), MapError> {
        let mut state = self.state();
        state.split(va)?;
        state.split(va + len)?;
        let keys = state.keys(va, len);
        state.growing.retain(|&block, _| block < va || block >= va + len);
        let entries: Vec<_> = keys.iter().map(|at| (*at, state.pages.remove(at).expect("page"))).collect();
        state.tables.retain(|&block| block < va || block + LARGE > va + len);
        drop(state);
        for (at, (page, flags)) in entries {
            removed(at, page, flags);
        }
        Ok(())
    }

    fn take_dirty(&self, va: usize, len: usize, dirty: &mut dyn FnMut(usize)) {
        let mut state = self.state();
        let mut taken = Vec::new();
        for (&at, entry) in state.pages.range_mut(va..va + len) {
            if entry.1.contains(PageFlags::DIRTY) {
                entry.1.remove(PageFlags::DIRTY);
                taken.push(at);
            }
        }
        drop(state);
        taken.into_iter().for_each(dirty);
    }

    fn protect(&self, va: usize, len: usize, flags: PageFlags) -> Result<(), MapError> {
        let mut state = self.state();
        state.split(va)?;
        state.split(va + len)?;
        for at in state.keys(va, len) {
            let entry = state.pages.get_mut(&at).expect("page");
            entry.1 = permitted(&entry.0, flags) | entry.1.intersection(PageFlags::DIRTY);
        }
        Ok(())
    }

    fn lookup(&self, va: usize) -> Option<(u64, PageSize, PageFlags)> {
        self.state().lookup(va).map(|(_, entry)| entry)
    }

    fn copy_page(&self, va: usize, offset: usize, len: usize, to: &Block) -> bool {
        let state = self.state();
        let Some((start, (pa, size, _))) = state.lookup(va) else { return false };
        if start != va || size.order() != to.order() {
            return false;
        }
        let mut bytes = vec![0; len];
        frames::host_read(pa + offset as u64, &mut bytes);
        to.write(offset, &bytes);
        true
    }

    fn block(&self, va: usize) -> BlockState {
        let state = self.state();
        let block = SimState::block(va);
        match () {
            () if state.growing.contains_key(&block) => BlockState::Growing,
            () if state.tables.contains(&block) || state.pages.contains_key(&block) => BlockState::Taken,
            () => BlockState::Empty,
        }
    }

    fn place(&self, va: usize) -> Place {
        match self.lookup(va) {
            Some((_, _, flags)) => Place::Present(flags),
            None => Place::Absent(self.block(va)),
        }
    }

    fn flush_local(&self, va: usize, len: usize) {
        let mut state = self.state();
        let cpu = state.cpu;
        state.tlbs[cpu].retain(|&page, _| page < va || page >= va + len);
    }

    fn share(&self, other: &Self, va: usize, len: usize, bytes: &mut usize) -> Result<(), MapError> {
        let (mut state, mut of_other) = (self.state(), other.state());
        for at in state.keys(va, len) {
            state.complete(at);
            let (page, flags) = state.pages.remove(&at).expect("page");
            if page.is_lent() {
                state.pages.insert(at, (page, flags));
                continue;
            }
            if page.size() == PageSize::Size4K
                && let Err(error) = of_other.make_table(SimState::block(at))
            {
                state.pages.insert(at, (page, flags));
                return Err(error);
            }
            *bytes += page.size().bytes();
            let (one, two) = page.share().expect("few shares");
            let flags = permitted(&one, flags);
            state.pages.insert(at, (one, flags));
            of_other.pages.insert(at, (two, flags.difference(PageFlags::DIRTY)));
        }
        Ok(())
    }

    fn unshare(&self, va: usize, flags: PageFlags) -> bool {
        let mut state = self.state();
        let Some((start, _)) = state.lookup(va) else { return false };
        let (page, before) = state.pages.remove(&start).expect("page");
        if !page.is_shared() {
            state.pages.insert(start, (page, before));
            return false;
        }
        let (page, flags, is_own) = match page.unshare() {
            Ok(page) => (page, flags, true),
            Err(page) => (page, before, false),
        };
        state.pages.insert(start, (page, flags));
        is_own
    }

    fn shootdown(&self, va: usize, len: usize, reach: Reach) -> Flushed {
        let mut state = self.state();
        state.shootdowns += 1;
        let forget = |state: &mut SimState| {
            for tlb in &mut state.tlbs {
                tlb.retain(|&page, _| page < va || page >= va + len);
            }
        };
        forget(&mut state);
        if reach == Reach::Everywhere {
            let family = state.family.clone();
            drop(state);
            for member in family.lock().expect("family").iter().filter_map(Weak::upgrade) {
                forget(&mut member.lock().expect("simulation"));
            }
        }
        Flushed::simulated(va, len, u64::MAX)
    }

    fn begin_lazy(&self) -> u64 {
        let mut state = self.state();
        state.generation += 1;
        state.generation
    }

    fn completed(&self, reach: Reach) -> Flushed {
        if reach == Reach::Everywhere {
            // Each window counts flushes of its own.
            return Flushed::simulated(0, usize::MAX, 0);
        }
        let through = self.state().seen.iter().copied().min().unwrap_or(0);
        Flushed::simulated(0, usize::MAX, through)
    }

    fn kick(&self) {
        // Asks only: the CPUs flush when the test lets them.
        self.state().kicks += 1;
    }
}
