// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which events wait for a CPU's interrupt: one bit each, set by anybody, taken by the CPU.

use crate::EVENTS;
use crate::atomic::{AtomicU64, Ordering};

const WORDS: usize = EVENTS / 64;

/// A set of events.
pub(crate) struct Pending([AtomicU64; WORDS]);

impl Pending {
    pub(crate) fn new() -> Self {
        Self(core::array::from_fn(|_| AtomicU64::new(0)))
    }

    /// Adds an event; returns whether it was not there, which means that nobody has sent an interrupt for it.
    pub(crate) fn set(&self, event: usize) -> bool {
        let bit = 1 << (event % 64);
        self.0[event / 64].fetch_or(bit, Ordering::SeqCst) & bit == 0
    }

    /// Removes an event.
    pub(crate) fn clear(&self, event: usize) {
        self.0[event / 64].fetch_and(!(1 << (event % 64)), Ordering::SeqCst);
    }

    /// Takes all events out, the lowest first.
    #[inline]
    pub(crate) fn take_each(&self, mut each: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            // Most words are empty: no need to make their line this CPU's own.
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            each_bit(word.swap(0, Ordering::SeqCst), |bit| each(index * 64 + bit));
        }
    }

    /// Calls `each` for the events that are there and leaves them.
    pub(crate) fn look_at_each(&self, mut each: impl FnMut(usize)) {
        for (index, word) in self.0.iter().enumerate() {
            each_bit(word.load(Ordering::SeqCst), |bit| each(index * 64 + bit));
        }
    }
}

#[inline]
fn each_bit(mut bits: u64, mut each: impl FnMut(usize)) {
    while bits != 0 {
        each(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn the_first_notification_sends_and_all_are_taken_once() {
        let pending = Pending::new();
        assert!(pending.set(5) && !pending.set(5) && pending.set(255) && pending.set(64));
        pending.clear(64);
        let mut taken = Vec::new();
        pending.look_at_each(|event| taken.push(event));
        pending.take_each(|event| taken.push(event));
        pending.take_each(|event| taken.push(event));
        assert_eq!(taken, [5, 255, 5, 255]);
        assert!(pending.set(5));
    }
}
