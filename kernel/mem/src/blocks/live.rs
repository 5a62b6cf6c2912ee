// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which frames belong to programs: a bit for each frame, for each 2 MiB and for each GiB, so that marking a block writes at
//! most eight words, and asking about an address reads three, whatever the size.

use alloc::boxed::Box;
use core::sync::atomic::{AtomicU64, Ordering};

/// Frames under one bit of each level, as a power of two.
const LEVELS: [u32; 3] = [0, 9, 18];
const WORD: u32 = u64::BITS;

/// The bits.
pub(super) struct Live {
    levels: [Box<[AtomicU64]>; 3],
}

impl Live {
    /// No bit is set; for frames below `frames`.
    pub(super) fn new(frames: u32) -> Self {
        let words = |shift: u32| (frames >> shift) / WORD + 1;
        Self { levels: LEVELS.map(|shift| (0..words(shift)).map(|_| AtomicU64::new(0)).collect()) }
    }

    /// Marks a naturally aligned block, or takes the mark away.
    pub(super) fn set(&self, frame: u32, order: u8, live: bool) {
        let level = LEVELS.iter().rposition(|&shift| shift <= u32::from(order)).unwrap_or(0);
        let first = frame >> LEVELS[level];
        let mut left = 1u32 << (u32::from(order) - LEVELS[level]);
        let mut bit = first;
        while left > 0 {
            let count = left.min(WORD);
            // A block of less than a word is in one word, since it is aligned.
            let mask = (u64::MAX >> (WORD - count)) << (bit % WORD);
            let word = &self.levels[level][(bit / WORD) as usize];
            if live {
                word.fetch_or(mask, Ordering::Release);
            } else {
                word.fetch_and(!mask, Ordering::Release);
            }
            bit += count;
            left -= count;
        }
    }

    /// How many frames from `frame` to the end of what one bit says about it are live; 0 if it is not.
    pub(super) fn span(&self, frame: u32) -> u32 {
        for (words, shift) in self.levels.iter().zip(LEVELS).rev() {
            let bit = frame >> shift;
            let word = words.get((bit / WORD) as usize).map_or(0, |word| word.load(Ordering::Acquire));
            if word & 1 << (bit % WORD) != 0 {
                return (1 << shift) - frame % (1 << shift);
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::Live;

    #[test]
    fn a_block_is_live_from_end_to_end() {
        let live = Live::new(1 << 20);
        for order in 0..=18u8 {
            let first = 1 << 18;
            let end = first + (1 << order);
            live.set(first, order, true);
            let mut frame = first;
            while frame < end {
                let span = live.span(frame);
                assert!(span > 0, "order {order}, frame {frame}");
                frame += span;
            }
            assert!(frame == end && live.span(first - 1) == 0 && live.span(end) == 0, "order {order}");
            live.set(first, order, false);
            assert!([first, end - 1].iter().all(|&frame| live.span(frame) == 0));
        }
    }
}
