// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The trace of system calls: which calls are watched ([`CallSet`]), what becomes of them ([`CallOutput`]), and how often
//! each was made ([`CallCount`]).

use serde::{Deserialize, Serialize};

/// Numbers of system calls that have a name are below this.
pub const NUMBERS: usize = 512;

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = NUMBERS / WORD_BITS;

/// A set of system calls by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSet {
    words: [u64; WORDS],
    /// Whether it has the numbers from [`NUMBERS`] on.
    others: bool,
}

impl CallSet {
    /// The empty set.
    pub const NONE: Self = Self { words: [0; WORDS], others: false };
    /// Every number.
    pub const ALL: Self = Self { words: [u64::MAX; WORDS], others: true };

    /// Adds a number; those from [`NUMBERS`] on are in a set together or not at all.
    pub fn insert(&mut self, number: usize) {
        match self.words.get_mut(number / WORD_BITS) {
            Some(word) => *word |= 1 << (number % WORD_BITS),
            None => self.others = true,
        }
    }

    /// Whether a number is in the set.
    pub fn contains(&self, number: u64) -> bool {
        let word = usize::try_from(number).ok().and_then(|number| self.words.get(number / WORD_BITS));
        word.map_or(self.others, |word| word >> (number % WORD_BITS as u64) & 1 != 0)
    }

    /// All numbers that are not in the set.
    pub fn complement(&self) -> Self {
        Self { words: self.words.map(|word| !word), others: !self.others }
    }
}

/// What becomes of the calls that are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallOutput {
    /// Each is sent as a line of text.
    Lines,
    /// They are counted, and the counts are sent at the end.
    Counts,
}

/// A trace of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTrace {
    /// The calls that are watched.
    pub calls: CallSet,
    /// What becomes of them.
    pub output: CallOutput,
    /// Those of all processes, not of the first one alone.
    pub all_processes: bool,
}

/// How often a system call was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCount {
    /// Its number; `None` for all numbers from [`NUMBERS`] on.
    pub number: Option<u16>,
    /// Calls, those included that did not return.
    pub calls: u64,
    /// Calls that returned an error.
    pub errors: u64,
    /// Time between call and return of those that returned, waiting included, in nanoseconds.
    pub time_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_what_was_put_in() {
        let mut set = CallSet::NONE;
        for number in [0, 63, 64, 511] {
            assert!(!set.contains(number as u64));
            set.insert(number);
            assert!(set.contains(number as u64));
            assert!(!set.complement().contains(number as u64));
        }
        for absent in [1, 62, 65, 510, 512, u64::MAX] {
            assert!(!set.contains(absent) && set.complement().contains(absent), "{absent}");
        }
        set.insert(512);
        assert!(set.contains(512) && set.contains(u64::MAX));
    }

    #[test]
    fn all_and_none_are_opposites() {
        assert_eq!(CallSet::NONE.complement(), CallSet::ALL);
        assert!([0, 300, 511, 512, u64::MAX].iter().all(|&number| CallSet::ALL.contains(number)));
    }
}
