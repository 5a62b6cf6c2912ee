// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sets of signals: [`SigSet`], as a program has them in memory, and [`AtomicSigSet`] for masks that other threads read.

use core::sync::atomic::{AtomicU64, Ordering};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::number::{COUNT, SIGKILL, SIGSTOP};

/// A set of signal numbers 1 to 64: bit `n - 1` stands for signal `n`.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct SigSet(u64);

impl SigSet {
    /// No signal.
    pub const EMPTY: Self = Self(0);
    /// Every signal.
    pub const ALL: Self = Self(u64::MAX);
    /// The signals that cannot be blocked, ignored or caught.
    pub const UNBLOCKABLE: Self = Self::of(&[SIGKILL, SIGSTOP]);

    /// The set with these signals.
    pub const fn of(signals: &[u8]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < signals.len() {
            bits |= 1 << (signals[index] - 1);
            index += 1;
        }
        Self(bits)
    }

    /// From the words of a program.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The word that a program sees.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether a signal is in the set.
    pub const fn contains(self, signo: u8) -> bool {
        1 <= signo && signo <= COUNT && self.0 & 1 << (signo - 1) != 0
    }

    /// The set and a signal.
    #[must_use]
    pub const fn with(self, signo: u8) -> Self {
        self.union(Self::of(&[signo]))
    }

    /// The set without a signal.
    #[must_use]
    pub const fn without(self, signo: u8) -> Self {
        self.minus(Self::of(&[signo]))
    }

    /// Signals of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Signals of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Signals of this set that are not in the other.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The set as a mask: without the signals that cannot be blocked.
    #[must_use]
    pub const fn blockable(self) -> Self {
        self.minus(Self::UNBLOCKABLE)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The signal with the lowest number.
    pub const fn first(self) -> Option<u8> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros() as u8 + 1) }
    }

    /// The signals, ascending.
    pub fn iter(mut self) -> impl Iterator<Item = u8> {
        core::iter::from_fn(move || {
            let first = self.first()?;
            self.0 &= self.0 - 1;
            Some(first)
        })
    }
}

/// A [`SigSet`] that its owner changes and others read.
///
/// All accesses are sequentially consistent: who unblocks a signal looks at what is pending afterwards, who sends one looks
/// at the mask afterwards, and one of the two must see the other.
#[derive(Debug)]
pub(crate) struct AtomicSigSet(AtomicU64);

impl AtomicSigSet {
    pub(crate) const fn new(set: SigSet) -> Self {
        Self(AtomicU64::new(set.0))
    }

    pub(crate) fn get(&self) -> SigSet {
        SigSet(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn set(&self, set: SigSet) {
        self.0.store(set.0, Ordering::SeqCst);
    }

    pub(crate) fn insert(&self, signo: u8) {
        self.0.fetch_or(SigSet::of(&[signo]).0, Ordering::SeqCst);
    }

    pub(crate) fn remove(&self, signo: u8) {
        self.0.fetch_and(!SigSet::of(&[signo]).0, Ordering::SeqCst);
    }

    /// Inserts or removes a signal.
    pub(crate) fn put(&self, signo: u8, is_in: bool) {
        if is_in { self.insert(signo) } else { self.remove(signo) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_linux() {
        let set = SigSet::of(&[1, 64]);
        assert_eq!(set.bits(), 1 | 1 << 63);
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 64]);
        assert_eq!(set.first(), Some(1));
        assert_eq!(set.without(1).first(), Some(64));
        assert_eq!(SigSet::EMPTY.first(), None);
    }

    #[test]
    fn impossible_numbers_are_in_no_set() {
        assert!(!SigSet::ALL.contains(0));
        assert!(!SigSet::ALL.contains(65));
    }

    #[test]
    fn kill_and_stop_cannot_be_blocked() {
        let mask = SigSet::ALL.blockable();
        assert!(!mask.contains(SIGKILL) && !mask.contains(SIGSTOP));
        assert_eq!(mask.bits().count_ones(), 62);
    }

    #[test]
    fn atomic_set_follows() {
        let set = AtomicSigSet::new(SigSet::EMPTY);
        set.insert(5);
        set.insert(7);
        set.remove(5);
        assert_eq!(set.get(), SigSet::of(&[7]));
    }
}
