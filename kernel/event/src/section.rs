// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections: how one who takes an event away knows that no CPU uses it any more.
//!
//! A CPU enters its section before it looks whether an event is there and leaves it when it is done with it. Sections nest,
//! since a notification may be interrupted by the handler: one word holds the depth and the number of times that the
//! outermost was left. Entering is one locked instruction on a line of the CPU's own.

use crate::atomic::{AtomicU64, Ordering, in_one_order, relax};

/// Depths that fit below the count.
const DEPTHS: u64 = 1 << 8;

/// The section of one CPU; only that CPU enters and leaves.
pub(crate) struct Section(AtomicU64);

/// Leaves the section when dropped.
pub(crate) struct Inside<'a>(&'a Section);

impl Section {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    #[inline]
    pub(crate) fn enter(&self) -> Inside<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        in_one_order();
        Inside(self)
    }

    /// Returns when the CPU is not in the section any more in which it may be at the call. In any that it enters later it
    /// sees what was changed before the call.
    pub(crate) fn wait_until_left(&self) {
        let parts = || {
            let word = self.0.load(Ordering::SeqCst);
            (word / DEPTHS, word % DEPTHS)
        };
        in_one_order();
        let (visit, depth) = parts();
        if depth != 0 {
            while matches!(parts(), (now, inside) if now == visit && inside != 0) {
                relax();
            }
        }
    }
}

impl Drop for Inside<'_> {
    #[inline]
    fn drop(&mut self) {
        // A load and a store are enough: an interrupt in between enters at a depth of two and restores the word.
        let word = self.0.0.load(Ordering::Relaxed);
        let outermost = word % DEPTHS == 1;
        self.0.0.store(if outermost { word - 1 + DEPTHS } else { word - 1 }, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn sections_nest() {
        let section = Section::new();
        let outer = section.enter();
        drop(section.enter());
        assert_eq!(section.0.load(Ordering::SeqCst), 1);
        drop(outer);
        assert_eq!(section.0.load(Ordering::SeqCst), DEPTHS);
        section.wait_until_left();
    }
}
