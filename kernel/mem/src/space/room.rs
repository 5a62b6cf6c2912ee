// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a new mapping needs of a gap.

/// How much room is needed, and where: at an address that is `phase` modulo `align`, a power of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub(super) len: usize,
    pub(super) align: usize,
    pub(super) phase: usize,
}

/// Tells the start of what is taken in a range for another reason than a mapping.
pub(super) type Busy<'a> = &'a dyn Fn(usize, usize) -> Option<usize>;

impl Room {
    /// The highest place in `start..end`.
    fn fit(self, start: usize, end: usize) -> Option<usize> {
        let highest = end.checked_sub(self.len)?;
        let at = highest.checked_sub(highest.wrapping_sub(self.phase) & (self.align - 1))?;
        (at >= start).then_some(at)
    }

    /// A place in `start..end` that keeps clear of what is busy: the highest, or one of the two highest, or below all that is
    /// busy; with `thorough` any.
    pub(super) fn place(self, start: usize, mut end: usize, busy: Busy<'_>, thorough: bool) -> Option<usize> {
        for step in 0.. {
            let at = self.fit(start, end)?;
            let Some(taken) = busy(at, at + self.len) else { return Some(at) };
            end = if step == 0 || thorough { taken } else { busy(start, taken).unwrap_or(taken) };
        }
        None
    }
}
