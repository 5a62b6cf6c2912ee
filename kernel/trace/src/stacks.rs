// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A profile's samples, counted: each different sequence of words is kept once.
//!
//! All memory is taken at the beginning, so that samples can be counted in an interrupt. What finds no room is counted as
//! lost.

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A sequence that was seen.
#[derive(Clone, Copy)]
struct Entry {
    /// Place of its words.
    start: u32,
    /// Number of its words; 0 marks a free entry.
    len: u32,
    count: u64,
}

/// Counted sequences of words.
pub struct Stacks {
    /// A hash table with linear probing; as many entries as a power of two.
    entries: Box<[Entry]>,
    used_entries: usize,
    words: Box<[u64]>,
    used_words: usize,
    lost: u64,
}

/// Words for each entry, on average.
const WORDS_PER_ENTRY: usize = 16;

impl Stacks {
    /// A table for about this many words; `None` when memory is out.
    pub fn new(words: usize) -> Option<Self> {
        let entries = (words / WORDS_PER_ENTRY).next_power_of_two().max(2);
        Some(Self {
            entries: filled(entries, Entry { start: 0, len: 0, count: 0 })?,
            used_entries: 0,
            words: filled(words, 0)?,
            used_words: 0,
            lost: 0,
        })
    }

    /// Counts a sequence that is not empty.
    pub fn add(&mut self, words: &[u64]) {
        let mask = self.entries.len() - 1;
        let mut at = hash(words) as usize & mask;
        while self.entries[at].len != 0 {
            if self.words_of(&self.entries[at]) == words {
                self.entries[at].count += 1;
                return;
            }
            at = (at + 1) & mask;
        }
        // A quarter of the entries, one at least, stays free: that keeps searches short and lets them end.
        let room = self.words.get_mut(self.used_words..self.used_words + words.len());
        let (Some(room), true) = (room, self.used_entries < self.entries.len() * 3 / 4) else {
            self.lost += 1;
            return;
        };
        room.copy_from_slice(words);
        self.entries[at] = Entry { start: self.used_words as u32, len: words.len() as u32, count: 1 };
        self.used_entries += 1;
        self.used_words += words.len();
    }

    /// All sequences with their counts, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u64], u64)> {
        let used = self.entries.iter().filter(|entry| entry.len != 0);
        used.map(|entry| (self.words_of(entry), entry.count))
    }

    /// Samples for which there was no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn words_of(&self, entry: &Entry) -> &[u64] {
        &self.words[entry.start as usize..(entry.start + entry.len) as usize]
    }
}

fn filled<T: Copy>(len: usize, value: T) -> Option<Box<[T]>> {
    let mut items = Vec::new();
    items.try_reserve_exact(len).ok()?;
    items.resize(len, value);
    Some(items.into_boxed_slice())
}

/// FNV-1a by words, folded: the low bits must depend on all of them.
fn hash(words: &[u64]) -> u64 {
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        mixed ^ mixed >> 29
    });
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn equal_sequences_are_one() {
        let mut stacks = Stacks::new(1024).unwrap();
        for sample in [&[1, 2, 3][..], &[1, 2], &[1, 2, 3], &[1, 2, 3]] {
            stacks.add(sample);
        }
        let counts: HashMap<&[u64], u64> = stacks.iter().collect();
        assert_eq!(counts, HashMap::from([(&[1, 2, 3][..], 3), (&[1, 2][..], 1)]));
        assert_eq!(stacks.lost(), 0);
    }

    #[test]
    fn what_has_no_room_is_counted() {
        for words in [1, 31, 64, 1000] {
            let mut stacks = Stacks::new(words).unwrap();
            for sample in 0..2000_u64 {
                stacks.add(&[sample, sample * 3, 7]);
                stacks.add(&[sample, sample * 3, 7]);
            }
            let counted: u64 = stacks.iter().map(|(_, count)| count).sum();
            assert_eq!(counted + stacks.lost(), 4000);
            assert!(stacks.iter().all(|(words, count)| words[1] == 3 * words[0] && count == 2));
        }
    }
}
