// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pages of one file.
//!
//! A page that is missing is read by the first thread that wants it, with its neighbours in one request; all others sleep
//! until it is there. What changes the file while pages are being read makes the reader drop them (its ticket is gone), so
//! nobody gets content from before a change.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use arrayvec::ArrayVec;
use hadal_hal::sync::{Rank, SpinLock};
use hadal_mem::space::PAGE_SIZE;
use hadal_sync::{Mutex, WaitMode, WaitQueue};

use super::{Page, PageCache};
use crate::errno::{Errno, Result};
use crate::file::Destination;

/// Pages read together around one that is wanted.
const WINDOW: u64 = 32;
/// Slots looked at, or pages let go, while the index is locked.
const STEP: usize = 64;

/// Reads so many bytes from where the file is kept, and hands them on in order, in one or more pieces; fewer than asked for
/// only at its end.
pub(crate) type ReadFile<'a> = &'a dyn Fn(u64, usize, &mut dyn FnMut(&[u8])) -> Result<()>;
/// Says how long the file is, or `u64::MAX` if that is not known: pages behind its end are not asked for. A page that is
/// wanted is asked for whatever this says.
pub(crate) type FileSize<'a> = &'a dyn Fn() -> u64;
/// Writes all of a piece to where the file is kept.
pub(crate) type WriteFile<'a> = &'a dyn Fn(u64, &[u8]) -> Result<()>;

#[derive(Clone)]
enum Slot {
    /// The thread with this ticket reads it.
    Reading(u64),
    Ready(Arc<Page>),
}

struct State {
    slots: BTreeMap<u64, Slot>,
    next_ticket: u64,
    /// From here on pages are looked at to be given back.
    hand: u64,
}

impl State {
    /// What is to be done for a page that is there or on its way.
    fn begun(&self, index: u64) -> Option<Step> {
        self.slots.get(&index).map(|slot| match slot {
            Slot::Ready(page) => Step::Take(page.clone()),
            Slot::Reading(_) => Step::Wait,
        })
    }
}

/// What is to be done to get a page.
enum Step {
    Take(Arc<Page>),
    Wait,
    Read { first: u64, count: u64, ticket: u64 },
}

/// The pages of one file.
pub(crate) struct FilePages {
    cache: Arc<PageCache>,
    /// Its number in the cache's list.
    number: u64,
    /// Pages read together when reading is sequential.
    most: u64,
    state: SpinLock<State>,
    /// Pages that mappings have written and the host does not have.
    written: AtomicUsize,
    /// Threads that wait for pages being read.
    arrivals: WaitQueue,
    /// Held by whoever changes the file, so that pages and file change in the same order.
    pub(crate) writers: Mutex<()>,
}

impl FilePages {
    /// No pages yet. One request can read `most_bytes`.
    pub(crate) fn new(cache: &Arc<PageCache>, most_bytes: usize) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            cache: cache.clone(),
            number: cache.enlist(this),
            most: (most_bytes / PAGE_SIZE).max(1) as u64,
            state: SpinLock::ranked(Rank::Files, State { slots: BTreeMap::new(), next_ticket: 0, hand: 0 }),
            written: AtomicUsize::new(0),
            arrivals: WaitQueue::new(),
            writers: Mutex::new(()),
        })
    }

    /// A page, read now if it is not there; `None` behind the end of the file.
    pub(crate) fn page(
        self: &Arc<Self>,
        index: u64,
        size: FileSize<'_>,
        read: ReadFile<'_>,
    ) -> Result<Option<Arc<Page>>> {
        loop {
            match self.next_step(index, size) {
                Step::Take(page) => return Ok(Some(page)),
                Step::Wait => {
                    self.cache.waits.fetch_add(1, Ordering::Relaxed);
                    let arrived = || (!self.is_being_read(index)).then_some(());
                    // Nothing but the condition ends this wait.
                    let _ = self.arrivals.wait_until(None, WaitMode::Uninterruptible, arrived);
                }
                Step::Read { first, count, ticket } => {
                    let result = self.fill(index, first..first + count, ticket, read);
                    let met = result.as_ref().map_or(0, |&(_, met)| met);
                    if met < count {
                        self.withdraw(first..first + count, ticket);
                    }
                    self.arrivals.wake_all();
                    match result?.0 {
                        Filled::Page(page) => return Ok(Some(page)),
                        Filled::BeyondEnd => return Ok(None),
                        Filled::Changed => {}
                    }
                }
            }
        }
    }

    fn is_being_read(&self, index: u64) -> bool {
        matches!(self.state.lock().slots.get(&index), Some(Slot::Reading(_)))
    }

    fn next_step(&self, index: u64, size: FileSize<'_>) -> Step {
        let begun = self.state.lock().begun(index);
        if let Some(step) = begun {
            return step;
        }
        let end_of_file = size().div_ceil(PAGE_SIZE as u64).max(index + 1);
        let mut state = self.state.lock();
        // Another thread may have asked for it meanwhile.
        if let Some(step) = state.begun(index) {
            return step;
        }
        let before = state.slots.range(..index).next_back().map(|(&before, _)| before + 1);
        let behind = state.slots.range(index..).next().map_or(u64::MAX, |(&behind, _)| behind);
        let (from, to) = match before {
            // As many as lie before: a long sequence is soon read in long runs, and two windows that are wanted do not bring
            // what is behind them.
            Some(before) if before == index => {
                let run = (1..=self.most).zip(state.slots.range(..index).rev());
                let len = run.take_while(|&(back, (&at, _))| at + back == index).count() as u64;
                (index, index + len.clamp(WINDOW.min(self.most), self.most))
            }
            _ => (index - index % WINDOW, index - index % WINDOW + WINDOW),
        };
        let first = from.max(before.unwrap_or(0)).max((index + 1).saturating_sub(self.most));
        let end = to.min(behind).min(first + self.most).min(end_of_file);
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        for page in first..end {
            state.slots.insert(page, Slot::Reading(ticket));
        }
        Step::Read { first, count: end - first, ticket }
    }

    /// Reads pages of a run: all of them, or only the wanted one when memory is short. Also says how many are there now.
    fn fill(
        self: &Arc<Self>,
        index: u64,
        run: Range<u64>,
        ticket: u64,
        read: ReadFile<'_>,
    ) -> Result<(Filled, u64)> {
        let whole = usize::try_from(run.end - run.start).map_err(|_| Errno::EINVAL)?;
        let (first, pages) = match self.room_for(whole) {
            Ok(pages) => (run.start, pages),
            Err(_) => (index, self.room_for(1)?),
        };
        let room = pages.len() * PAGE_SIZE;
        let mut got = 0;
        read(first * PAGE_SIZE as u64, room, &mut |mut data| {
            for (page, within, part) in pieces(got as u64, data.len().min(room - got)) {
                pages[page as usize].write(within, &data[..part]);
                data = &data[part..];
                got += part;
            }
        })?;
        let (there, within) = (got.div_ceil(PAGE_SIZE), got % PAGE_SIZE);
        if within > 0 {
            pages[there - 1].zero(within, PAGE_SIZE - within);
        }
        if index >= first + there as u64 {
            return Ok((Filled::BeyondEnd, 0));
        }
        let (mut wanted, mut met) = (Filled::Changed, 0);
        let mut state = self.state.lock();
        let mut pages = (first..).zip(pages.into_iter().take(there));
        for (&number, slot) in state.slots.range_mut(first..first + there as u64) {
            let Some((_, page)) = pages.find(|&(at, _)| at == number) else { break };
            if matches!(slot, Slot::Reading(own) if *own == ticket) {
                if number == index {
                    wanted = Filled::Page(page.clone());
                }
                *slot = Slot::Ready(page);
                met += 1;
            }
        }
        drop(state);
        self.cache.reads.fetch_add(1, Ordering::Relaxed);
        Ok((wanted, met))
    }

    /// Frames for some pages.
    fn room_for(&self, count: usize) -> Result<Vec<Arc<Page>>> {
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).map_err(|_| Errno::ENOMEM)?;
        for _ in 0..count {
            pages.push(Arc::new(self.cache.take_page()?));
        }
        Ok(pages)
    }

    /// Takes back the claims of a reader that were not met.
    fn withdraw(&self, run: Range<u64>, ticket: u64) {
        let is_own = |_: &u64, slot: &mut Slot| matches!(slot, Slot::Reading(own) if *own == ticket);
        self.state.lock().slots.extract_if(run, is_own).for_each(drop);
    }

    /// Reads bytes, up to the end of the file.
    pub(crate) fn read(
        self: &Arc<Self>,
        offset: u64,
        buffer: &mut [u8],
        size: u64,
        read: ReadFile<'_>,
    ) -> Result<usize> {
        let mut done = 0;
        self.each_piece(offset, buffer.len(), size, read, |page, within, part| {
            page.read(within, &mut buffer[done..done + part]);
            done += part;
            Ok(())
        })
    }

    /// Reads bytes straight to program memory.
    pub(crate) fn read_to(
        self: &Arc<Self>,
        offset: u64,
        len: usize,
        size: u64,
        read: ReadFile<'_>,
        to: &mut dyn Destination,
    ) -> Result<usize> {
        self.each_piece(offset, len, size, read, |page, within, part| to.put(page, within, part))
    }

    /// Hands each page of a range up to the end of the file to `take`, with the place and number of its bytes there.
    fn each_piece(
        self: &Arc<Self>,
        offset: u64,
        len: usize,
        size: u64,
        read: ReadFile<'_>,
        mut take: impl FnMut(&Page, usize, usize) -> Result<()>,
    ) -> Result<usize> {
        let room = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut done = 0;
        for (index, within, part) in pieces(offset, len.min(room)) {
            let taken = match self.page(index, &|| size, read) {
                Ok(Some(page)) => take(&page, within, part),
                Ok(None) => break,
                Err(error) => Err(error),
            };
            match taken {
                Ok(()) => done += part,
                Err(error) if done == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// Those pages of a range that are there; at most `N`.
    pub(crate) fn at_hand<const N: usize>(&self, range: Range<u64>) -> ArrayVec<(u64, Arc<Page>), N> {
        let state = self.state.lock();
        let ready = state.slots.range(range).filter_map(|(&index, slot)| match slot {
            Slot::Ready(page) => Some((index, page.clone())),
            Slot::Reading(_) => None,
        });
        ready.take(N).collect()
    }

    fn ready(&self, index: u64) -> Option<Arc<Page>> {
        match self.state.lock().slots.get(&index) {
            Some(Slot::Ready(page)) => Some(page.clone()),
            _ => None,
        }
    }

    /// Puts what pages hold over what was read from the file: they know what mappings have written.
    pub(crate) fn overlay(&self, offset: u64, buffer: &mut [u8]) {
        let mut done = 0;
        for (index, within, part) in pieces(offset, buffer.len()) {
            if let Some(page) = self.ready(index) {
                page.read(within, &mut buffer[done..done + part]);
            }
            done += part;
        }
    }

    /// Makes pages what has been written to the file. The caller holds [`FilePages::writers`].
    pub(crate) fn patch(&self, offset: u64, data: &[u8]) {
        let mut done = 0;
        for (index, within, part) in pieces(offset, data.len()) {
            if let Some(page) = self.ready(index) {
                page.write(within, &data[done..done + part]);
            }
            done += part;
        }
        self.reread(offset, data.len());
    }

    /// What is being read of a range may be old: it is read again.
    fn reread(&self, offset: u64, len: usize) {
        for (index, ..) in pieces(offset, len) {
            let mut state = self.state.lock();
            if matches!(state.slots.get(&index), Some(Slot::Reading(_))) {
                state.slots.remove(&index);
            }
        }
        self.arrivals.wake_all();
    }

    /// The file ends at `size` now, or ended there until it grew: later pages are gone, and the rest of the last one is
    /// zeros. The caller holds [`FilePages::writers`].
    pub(crate) fn cut(&self, size: u64) {
        let (last, within) = (size / PAGE_SIZE as u64, (size % PAGE_SIZE as u64) as usize);
        let gone = if within == 0 { last } else { last + 1 };
        loop {
            let mut dropped = ArrayVec::<Slot, STEP>::new();
            let mut state = self.state.lock();
            while !dropped.is_full()
                && let Some((&index, _)) = state.slots.range(gone..).next()
            {
                dropped.extend(state.slots.remove(&index));
            }
            drop(state);
            if dropped.is_empty() {
                break;
            }
            for slot in dropped {
                if let Slot::Ready(page) = slot {
                    self.take_mark(&page);
                }
            }
        }
        if within != 0 {
            if let Some(page) = self.ready(last) {
                page.zero(within, PAGE_SIZE - within);
            }
            self.reread(size, 1);
        }
        self.arrivals.wake_all();
    }

    /// A mapping has written to a page.
    pub(crate) fn mark_written(&self, index: u64) {
        if let Some(Slot::Ready(page)) = self.state.lock().slots.get(&index)
            && !page.written.swap(true, Ordering::Relaxed)
        {
            self.written.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether mappings have written something that the host does not know.
    pub(crate) fn has_written(&self) -> bool {
        self.written.load(Ordering::Relaxed) > 0
    }

    /// Takes the mark of a written page away; whether it was there.
    fn take_mark(&self, page: &Page) -> bool {
        let marked = page.written.swap(false, Ordering::Relaxed);
        if marked {
            self.written.fetch_sub(1, Ordering::Relaxed);
        }
        marked
    }

    /// Writes what mappings have written in a range of pages, nothing of it behind `size`, where the file ends. The caller
    /// holds [`FilePages::writers`].
    pub(crate) fn write_back(&self, range: Range<u64>, size: u64, write: WriteFile<'_>) -> Result<()> {
        let mut data = Vec::new();
        data.try_reserve_exact(PAGE_SIZE).map_err(|_| Errno::ENOMEM)?;
        data.resize(PAGE_SIZE, 0);
        let mut next = range.start;
        while let Some((index, page)) = self.next_written(&mut next, range.end) {
            let Some(page) = page.filter(|page| self.take_mark(page)) else { continue };
            let offset = index * PAGE_SIZE as u64;
            let len =
                usize::try_from(size.saturating_sub(offset)).map_or(PAGE_SIZE, |left| left.min(PAGE_SIZE));
            page.read(0, &mut data);
            if let Err(error) = write(offset, &data[..len]) {
                self.mark_written(index);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Looks at some slots from `next` on, which moves; gives the first with a written page, or the last it looked at.
    fn next_written(&self, next: &mut u64, end: u64) -> Option<(u64, Option<Arc<Page>>)> {
        let state = self.state.lock();
        let mut last = None;
        for (&index, slot) in state.slots.range((*next).min(end)..end).take(STEP) {
            *next = index + 1;
            last = Some((index, None));
            if let Slot::Ready(page) = slot
                && page.written.load(Ordering::Relaxed)
            {
                return Some((index, Some(page.clone())));
            }
        }
        last
    }

    /// Looks at some pages, and lets go of those that nobody uses; returns how many, and whether there are more to look at.
    /// Never waits.
    pub(super) fn evict_some(&self) -> (usize, bool) {
        let Some(mut state) = self.state.try_lock() else { return (0, false) };
        let mut unused = ArrayVec::<u64, STEP>::new();
        let mut last = None;
        for (&index, slot) in state.slots.range(state.hand..).take(STEP) {
            last = Some(index);
            if let Slot::Ready(page) = slot
                && Arc::strong_count(page) == 1
                && !page.written.load(Ordering::Relaxed)
            {
                unused.push(index);
            }
        }
        let dropped: ArrayVec<Slot, STEP> =
            unused.iter().filter_map(|index| state.slots.remove(index)).collect();
        state.hand = last.map_or(0, |last| last + 1);
        drop(state);
        (dropped.len(), last.is_some())
    }

    /// Number of pages at hand.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.state.lock().slots.values().filter(|slot| matches!(slot, Slot::Ready(_))).count()
    }
}

impl Drop for FilePages {
    fn drop(&mut self) {
        self.cache.strike(self.number);
    }
}

/// What a reader got.
enum Filled {
    Page(Arc<Page>),
    BeyondEnd,
    /// The file has changed meanwhile.
    Changed,
}

/// Cuts a range at page boundaries: page, first byte in it, length.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut done = 0;
    core::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE_SIZE as u64) as usize;
        let part = (len - done).min(PAGE_SIZE - within);
        done += part;
        (part > 0).then_some((at / PAGE_SIZE as u64, within, part))
    })
}
