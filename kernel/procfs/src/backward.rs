// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Text that is written from its end to its beginning: the digits of a number come in that order, so each goes where it
//! stays, and nothing is copied or allocated until all is there.

use alloc::vec::Vec;

/// The two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Most digits of a number.
pub(super) const DIGITS_MAX: usize = 20;

/// Text of at most `N` bytes. What does not fit is left out.
pub(super) struct Backward<const N: usize> {
    bytes: [u8; N],
    start: usize,
}

impl<const N: usize> Backward<N> {
    pub(super) fn new() -> Self {
        Self { bytes: [0; N], start: N }
    }

    /// Puts bytes before the text.
    #[inline]
    pub(super) fn bytes<const LEN: usize>(&mut self, bytes: &[u8; LEN]) {
        if let Some(place) = self.bytes[..self.start].last_chunk_mut() {
            *place = *bytes;
            self.start -= LEN;
        }
    }

    /// Puts a number and bytes that follow it before the text.
    #[inline]
    pub(super) fn number_and<const LEN: usize>(&mut self, number: u64, behind: &[u8; LEN]) {
        self.bytes(behind);
        self.number(number);
    }

    /// Puts text of any length before the text.
    pub(super) fn text(&mut self, text: &[u8]) {
        if let Some(start) = self.start.checked_sub(text.len()) {
            self.bytes[start..self.start].copy_from_slice(text);
            self.start = start;
        }
    }

    /// Puts a number before the text.
    #[inline]
    pub(super) fn number(&mut self, number: u64) {
        if number < 10 { self.bytes(&[b'0' + number as u8]) } else { self.long_number(number) }
    }

    /// Puts a number with its sign before the text.
    #[inline(never)]
    pub(super) fn signed(&mut self, number: i32) {
        self.number(number.unsigned_abs().into());
        if number < 0 {
            self.bytes(b"-");
        }
    }

    #[inline(never)]
    fn long_number(&mut self, number: u64) {
        let mut left = number;
        while left >= 100 {
            self.bytes(&PAIRS[(left % 100) as usize]);
            left /= 100;
        }
        if left < 10 { self.bytes(&[b'0' + left as u8]) } else { self.bytes(&PAIRS[left as usize]) }
    }

    /// The text.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        self.bytes[self.start..].to_vec()
    }
}

/// A number alone.
pub(super) fn decimal(number: u64) -> Vec<u8> {
    let mut text = Backward::<DIGITS_MAX>::new();
    text.number(number);
    text.to_vec()
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_written_as_usual(bits in 0..=64_u32, seed in any::<u64>()) {
            let number = seed.checked_shr(bits).unwrap_or(0);
            prop_assert_eq!(decimal(number), format!("{number}").into_bytes());
        }
    }

    #[test]
    fn the_longest_number_fits() {
        assert_eq!(decimal(u64::MAX), b"18446744073709551615");
        assert_eq!(decimal(u64::MAX).len(), DIGITS_MAX);
    }

    #[test]
    fn parts_come_in_front() {
        let mut text = Backward::<16>::new();
        text.number_and(42, b"\n");
        text.text(b"answer");
        text.bytes(b": ");
        assert_eq!(text.to_vec(), b": answer42\n");
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let mut text = Backward::<4>::new();
        text.bytes(b"abc");
        text.bytes(b"de");
        text.text(b"fg");
        assert_eq!(text.to_vec(), b"abc");
    }
}
