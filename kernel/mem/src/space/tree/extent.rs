// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a node of the tree knows of the gaps between its entries, and how that is kept up to date: after a change only the gaps
//! beside it are looked at, as long as the largest one is still known.

use super::super::vma::Vma;

/// From the first mapping's start to the last one's end, with the largest gap between two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) gap: usize,
    /// What no other gap exceeds: while the largest one shrinks and grows, as where new mappings go below the last
    /// one, the others need no look.
    pub(super) others: usize,
}

/// An entry of a node: mappings without a gap inside, or children.
pub(super) trait Entry {
    fn start(&self) -> usize;
    fn end(&self) -> usize;
    fn gap(&self) -> usize;
}

impl Entry for Vma {
    fn start(&self) -> usize {
        self.start
    }
    fn end(&self) -> usize {
        self.end
    }
    fn gap(&self) -> usize {
        0
    }
}

/// The largest gap in and between entries, and the next one.
fn largest_gaps<T: Entry>(entries: &[T]) -> (usize, usize) {
    let Some((first, others)) = entries.split_first() else { return (0, 0) };
    let (mut most, mut next, mut end) = (first.gap(), 0, first.end());
    for entry in others {
        for gap in [entry.start() - end, entry.gap()] {
            next = next.max(gap.min(most));
            most = most.max(gap);
        }
        end = entry.end();
    }
    (most, next)
}

/// The largest gap in an entry and beside it, and the next one.
#[inline]
pub(super) fn gaps_around<T: Entry>(entries: &[T], index: usize) -> (usize, usize) {
    let Some(entry) = entries.get(index) else { return (0, 0) };
    let above = entries.get(index + 1).map_or(0, |next| next.start() - entry.end());
    let below = gap_below(entries, index);
    let beside = above.max(below);
    (entry.gap().max(beside), entry.gap().min(beside).max(above.min(below)))
}

/// The gap between an entry and the one before it.
#[inline]
pub(super) fn gap_below<T: Entry>(entries: &[T], index: usize) -> usize {
    match (entries.get(index.wrapping_sub(1)), entries.get(index)) {
        (Some(below), Some(entry)) => entry.start() - below.end(),
        _ => 0,
    }
}

pub(super) fn extent_of<T: Entry>(entries: &[T]) -> Extent {
    let bounds = entries.first().zip(entries.last());
    let (start, end) = bounds.map_or((0, 0), |(first, last)| (first.start(), last.end()));
    let (gap, others) = largest_gaps(entries);
    Extent { start, end, gap, others }
}

impl Extent {
    /// Brings the extent of entries up to date after a change in which gaps of up to `before` have become others of up to
    /// `after`, and all but one of them up to `next`.
    #[inline]
    pub(super) fn update<T: Entry>(&mut self, entries: &[T], before: usize, (after, next): (usize, usize)) {
        if before < self.gap {
            // The largest one is still there.
            self.others = self.others.max(after.min(self.gap)).max(next);
            self.gap = self.gap.max(after);
        } else if after >= self.others {
            (self.gap, self.others) = (after, self.others.max(next));
        } else {
            (self.gap, self.others) = largest_gaps(entries);
        }
        if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
            (self.start, self.end) = (first.start(), last.end());
        }
    }
}
