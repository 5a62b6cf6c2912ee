// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was unmapped but may still be in some CPU's TLB: frames are not freed and addresses not given out again before every
//! CPU has flushed.
//!
//! Ranges gather in an open batch. A batch that is large enough is sealed: one lazy flush is begun for all of it, and it is
//! released when that flush is over on every CPU. So a program that unmaps a hundred thousand thread stacks pays for one
//! flush in [`BATCH_RANGES`], and what waits is bounded: when [`SEALED_LIMIT`] batches wait, the caller forces a flush.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hadal_hal::memory::frames::Chain;
use hadal_hal::memory::paging::Stale;
use hadal_hal::memory::tlb::Flushed;

use super::vma::Vma;

/// Ranges after which a batch is sealed.
pub(super) const BATCH_RANGES: usize = 64;
/// Memory after which a batch is sealed, in bytes.
pub(super) const BATCH_BYTES: u64 = 16 << 20;
/// Batches that may wait.
pub(super) const SEALED_LIMIT: usize = 4;

/// What waits for TLB flushes.
pub(super) struct Quarantine {
    open: Batch,
    sealed: VecDeque<Batch>,
    /// Ranges in all batches.
    ranges: usize,
    /// Batches that were released so far.
    releases: u64,
    next_id: u64,
}

#[derive(Default)]
struct Batch {
    id: u64,
    /// The flush that releases it, once it is sealed.
    flush: u64,
    ranges: Vec<(usize, usize)>,
    held: Held,
}

/// What waits for a flush.
#[derive(Default)]
#[must_use = "its frames have to be freed"]
pub(super) struct Held {
    pub(super) frames: Stale,
    /// Mappings whose sources own frames that were mapped.
    pub(super) mappings: Vec<Vma>,
}

/// What may be freed: by the caller, without any lock, since dropping a file may sleep.
#[derive(Default)]
#[must_use = "its frames have to be freed"]
pub(super) struct Released {
    pub(super) frames: Chain,
    /// Mappings whose sources own frames that were mapped.
    pub(super) mappings: Vec<Vma>,
}

impl Released {
    pub(super) fn join(&mut self, other: Self) {
        self.frames.join(other.frames);
        self.mappings.extend(other.mappings);
    }
}

impl Quarantine {
    pub(super) fn new() -> Self {
        Self { open: Batch::default(), sealed: VecDeque::new(), ranges: 0, releases: 0, next_id: 0 }
    }

    /// Bytes of memory that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.batches().map(|batch| batch.held.frames.bytes()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges == 0
    }

    /// How often something has been released.
    pub(super) fn releases(&self) -> u64 {
        self.releases
    }

    /// Whether too much waits.
    pub(super) fn is_crowded(&self) -> bool {
        self.sealed.len() >= SEALED_LIMIT
    }

    /// The lowest address of what waits in `start..end`.
    #[inline]
    pub(super) fn busy(&self, start: usize, end: usize) -> Option<usize> {
        if self.is_empty() { None } else { self.lowest_in(start, end) }
    }

    fn lowest_in(&self, start: usize, end: usize) -> Option<usize> {
        let ranges = self.batches().flat_map(|batch| batch.ranges.iter());
        ranges.filter(|range| range.0 < end && start < range.1).map(|range| range.0).min()
    }

    /// Adds an unmapped range and what it held.
    pub(super) fn add(&mut self, start: usize, end: usize, held: Held) {
        self.open.held.frames.join(held.frames);
        self.open.held.mappings.extend(held.mappings);
        let ranges = &mut self.open.ranges;
        match ranges.iter_mut().find(|range| range.1 == start || range.0 == end) {
            Some(range) => *range = (range.0.min(start), range.1.max(end)),
            None => {
                ranges.push((start, end));
                self.ranges += 1;
            }
        }
    }

    /// Whether the open batch is large enough to be flushed for.
    pub(super) fn is_due(&self) -> bool {
        let held = &self.open.held;
        self.open.ranges.len() >= BATCH_RANGES
            || held.frames.bytes() >= BATCH_BYTES
            || held.mappings.len() >= BATCH_RANGES
    }

    /// Closes the open batch, to be released by the flush that `begin` starts.
    pub(super) fn seal(&mut self, begin: impl FnOnce() -> u64) {
        if self.open.ranges.is_empty() {
            return;
        }
        self.next_id += 1;
        let mut batch = core::mem::take(&mut self.open);
        batch.id = self.next_id;
        batch.flush = begin();
        self.sealed.push_back(batch);
    }

    /// The range that covers everything sealed, and a ticket for [`Quarantine::release_through`].
    pub(super) fn span(&self) -> Option<(usize, usize, u64)> {
        let ranges = || self.sealed.iter().flat_map(|batch| batch.ranges.iter());
        let start = ranges().map(|range| range.0).min()?;
        let end = ranges().map(|range| range.1).max()?;
        Some((start, end, self.next_id))
    }

    /// Takes out the batches whose flush is `completed`.
    pub(super) fn release_completed(&mut self, completed: &Flushed) -> Released {
        self.release_while(completed, |batch| batch.flush <= completed.through())
    }

    /// Takes out the batches that were sealed when the ticket was given, after a flush of their span.
    pub(super) fn release_through(&mut self, ticket: u64, flush: &Flushed) -> Released {
        self.release_while(flush, |batch| batch.id <= ticket)
    }

    fn release_while(&mut self, flush: &Flushed, over: impl Fn(&Batch) -> bool) -> Released {
        let mut released = Released::default();
        while let Some(batch) = self.sealed.pop_front_if(|batch| over(batch)) {
            self.ranges -= batch.ranges.len();
            self.releases += 1;
            released.frames.join(batch.held.frames.flushed(flush));
            released.mappings.extend(batch.held.mappings);
        }
        released
    }

    fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.sealed.iter().chain([&self.open])
    }
}
