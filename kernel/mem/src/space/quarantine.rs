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

use super::mmu::Reach;
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
    /// Memory in all batches.
    bytes: u64,
    /// Sealed batches with memory that was shared.
    shared: usize,
    /// Batches that were released so far.
    releases: u64,
    next_id: u64,
}

struct Batch {
    id: u64,
    /// The flush that releases it, once it is sealed.
    flush: u64,
    ranges: Vec<(usize, usize)>,
    /// The range that covers them all.
    span: (usize, usize),
    held: Held,
}

impl Default for Batch {
    fn default() -> Self {
        Self { id: 0, flush: 0, ranges: Vec::new(), span: (usize::MAX, 0), held: Held::default() }
    }
}

impl Batch {
    /// The lowest address of its ranges in `start..end`, or the largest address there is.
    #[inline]
    fn lowest_in(&self, start: usize, end: usize) -> usize {
        let mut lowest = usize::MAX;
        if self.span.0 < end && start < self.span.1 {
            for &(from, to) in &self.ranges {
                if from < end && start < to {
                    lowest = lowest.min(from);
                }
            }
        }
        lowest
    }
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
        Self {
            open: Batch::default(),
            sealed: VecDeque::new(),
            ranges: 0,
            bytes: 0,
            shared: 0,
            releases: 0,
            next_id: 0,
        }
    }

    /// Bytes of memory that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges == 0
    }

    /// Whether a batch waits for its flush.
    pub(super) fn has_sealed(&self) -> bool {
        !self.sealed.is_empty()
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
        let mut lowest = self.open.lowest_in(start, end);
        for batch in &self.sealed {
            lowest = lowest.min(batch.lowest_in(start, end));
        }
        (lowest != usize::MAX).then_some(lowest)
    }

    /// Adds an unmapped range and what it held. Returns whether the open batch is large enough to be flushed for.
    pub(super) fn add(&mut self, start: usize, end: usize, held: Held) -> bool {
        self.bytes += held.frames.bytes();
        let open = &mut self.open;
        open.held.frames.join(held.frames);
        open.held.mappings.extend(held.mappings);
        open.span = (open.span.0.min(start), open.span.1.max(end));
        let ranges = &mut open.ranges;
        match ranges.iter_mut().find(|range| range.1 == start || range.0 == end) {
            Some(range) => *range = (range.0.min(start), range.1.max(end)),
            None => {
                ranges.push((start, end));
                self.ranges += 1;
            }
        }
        open.ranges.len() >= BATCH_RANGES
            || open.held.frames.bytes() >= BATCH_BYTES
            || open.held.mappings.len() >= BATCH_RANGES
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
        self.shared += usize::from(batch.held.frames.was_shared());
        self.sealed.push_back(batch);
    }

    /// The range that covers everything sealed, and a ticket for [`Quarantine::release_through`].
    pub(super) fn span(&self) -> Option<(usize, usize, u64)> {
        let start = self.sealed.iter().map(|batch| batch.span.0).min()?;
        let end = self.sealed.iter().map(|batch| batch.span.1).max()?;
        Some((start, end, self.next_id))
    }

    /// Which CPUs the flushes concern that are waited for.
    #[inline]
    pub(super) fn reach(&self) -> Reach {
        if self.shared == 0 { Reach::Table } else { Reach::Everywhere }
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
            self.bytes -= batch.held.frames.bytes();
            self.releases += 1;
            self.shared -= usize::from(batch.held.frames.was_shared());
            released.frames.join(batch.held.frames.flushed(flush));
            released.mappings.extend(batch.held.mappings);
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use hadal_hal::memory::frames::{Block, host_arena};
    use hadal_hal::memory::paging::Page;

    use super::*;

    fn flush() -> Flushed {
        Flushed::simulated(0, usize::MAX, u64::MAX)
    }

    #[test]
    fn the_lowest_busy_address_is_found_in_all_batches() {
        let mut quarantine = Quarantine::new();
        assert_eq!(quarantine.busy(0, usize::MAX), None);
        for start in [0x9000, 0x5000] {
            assert!(!quarantine.add(start, start + 0x1000, Held::default()));
        }
        quarantine.seal(|| 1);
        assert!(!quarantine.add(0x7000, 0x8000, Held::default()));
        let busy = |start, end| quarantine.busy(start, end);
        assert_eq!((busy(0, usize::MAX), busy(0x6000, 0x7000)), (Some(0x5000), None));
        assert_eq!((busy(0x6000, 0xa000), busy(0x8000, 0x9000)), (Some(0x7000), None));
        assert_eq!((busy(0x8000, 0x9001), busy(0xa000, usize::MAX)), (Some(0x9000), None));
        assert_eq!(quarantine.span(), Some((0x5000, 0xa000, 1)));
        let _ = quarantine.release_through(1, &flush());
        assert_eq!((quarantine.has_sealed(), quarantine.busy(0, usize::MAX)), (false, Some(0x7000)));
    }

    #[test]
    fn memory_counts_until_it_is_released() {
        let mut quarantine = Quarantine::new();
        for number in 0..3 {
            let mut held = Held::default();
            let block = Block::claim(host_arena(2 << 20), 0).expect("free");
            held.frames.push(number << 20, Page::from(block).as_unmapped());
            quarantine.add(number << 20, (number << 20) + 0x1000, held);
            if number < 2 {
                quarantine.seal(|| 1);
            }
        }
        assert_eq!(quarantine.bytes(), 3 * 0x1000);
        let released = quarantine.release_completed(&flush());
        assert_eq!((released.frames.bytes(), quarantine.bytes()), (2 * 0x1000, 0x1000));
    }
}
