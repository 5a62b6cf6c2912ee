// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The profile of a run as it travels: at the end the guest sends one [`Head`], then the program's executable [`Mapping`]s, by
//! address, and the counted samples, both in pieces.
//!
//! A sample is a sequence of little-endian words: how often it was seen, how many words follow, two words with the name of
//! the thread ([`crate::trace::text_words`]), the number of kernel frames, 1 if [no caller is missing](Sample::is_complete),
//! and then addresses of instructions, innermost first: those in the kernel before those in the program. The first is the
//! one that was interrupted, the others lie in call instructions.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// Words of a sample before its addresses, count and length not included.
pub const KEY_WORDS: usize = 4;

/// Samples of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSamples {
    /// Samples taken, the idle ones included.
    pub taken: u64,
    /// Those that found the CPU idle; they have no addresses.
    pub idle: u64,
    /// Those for which the guest had no room.
    pub lost: u64,
}

/// Code that was mapped when the run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// Address behind the last.
    pub end: u64,
    /// Place in the file of what is at `start`.
    pub offset: u64,
    /// Guest path of the file, or a name in brackets.
    pub path: String,
}

/// What the host has to know before it can read samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Samples of each CPU per second.
    pub hz: u32,
    /// The CPUs in order.
    pub cpus: Vec<CpuSamples>,
}

/// One counted sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// How often it was seen.
    pub count: u64,
    /// Name of the thread as in the record of a trace.
    pub name: [u64; 2],
    /// Whether the last address is in the function that the thread began with.
    pub is_complete: bool,
    /// Addresses in the kernel, innermost first.
    pub kernel: &'a [u64],
    /// Addresses in the program, innermost first.
    pub program: &'a [u64],
}

/// Appends a sample's words to a piece.
pub fn put(piece: &mut Vec<u8>, words: &[u64], count: u64) {
    for word in [count, words.len() as u64].iter().chain(words) {
        piece.extend_from_slice(&word.to_le_bytes());
    }
}

/// The words of a piece; `None` if it is cut.
pub fn words(piece: &[u8]) -> Option<Vec<u64>> {
    let (words, []) = piece.as_chunks::<8>() else { return None };
    Some(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

/// The samples in the words of a piece; ends early if they are damaged.
pub fn samples(words: &[u64]) -> impl Iterator<Item = Sample<'_>> {
    let mut rest = words;
    core::iter::from_fn(move || {
        let (&[count, len], behind) = rest.split_first_chunk::<2>()?;
        let (sample, behind) = behind.split_at_checked(usize::try_from(len).ok()?)?;
        let (&[low, high, kernel_len, complete], addresses) = sample.split_first_chunk::<KEY_WORDS>()?;
        let (kernel, program) = addresses.split_at_checked(usize::try_from(kernel_len).ok()?)?;
        rest = behind;
        Some(Sample { count, name: [low, high], is_complete: complete != 0, kernel, program })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_back() {
        let mut piece = Vec::new();
        put(&mut piece, &[1, 2, 1, 0, 0xffff, 0x1000, 0x2000], 7);
        put(&mut piece, &[3, 4, 0, 1, 0x3000], 1);
        let words = words(&piece).unwrap();
        let read: Vec<_> = samples(&words).collect();
        let (kernel, program) = (&[0xffff][..], &[0x1000, 0x2000][..]);
        let first = Sample { count: 7, name: [1, 2], is_complete: false, kernel, program };
        let second = Sample { count: 1, name: [3, 4], is_complete: true, kernel: &[], program: &[0x3000] };
        assert_eq!(read, [first, second]);
    }

    #[test]
    fn damage_ends_the_list() {
        assert_eq!(words(&[1; 9]), None);
        for damaged in [&[1][..], &[1, 5, 0], &[1, 2, 0, 0], &[1, 5, 0, 0, 9, 0, 1], &[1, u64::MAX]] {
            assert_eq!(samples(damaged).count(), 0, "{damaged:?}");
        }
    }
}
