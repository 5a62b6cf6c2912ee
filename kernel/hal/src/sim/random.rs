// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random numbers that follow from a seed: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
//! generators, scrambled").

use core::cell::Cell;

/// The generator.
pub struct Random(Cell<u64>);

impl Random {
    /// Seeds that are close give sequences that are not.
    pub const fn new(seed: u64) -> Self {
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(Cell::new(if mixed == 0 { 1 } else { mixed }))
    }

    /// The next number.
    #[inline]
    pub fn next(&self) -> u64 {
        let mut x = self.0.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.0.set(x);
        x.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`, which is not 0.
    #[inline]
    pub fn below(&self, bound: usize) -> usize {
        ((self.next() >> 32) as usize).wrapping_mul(bound) >> 32
    }

    /// True once in `2^log2` times.
    #[inline]
    pub fn once_in(&self, log2: u32) -> bool {
        self.next() >> 40 & ((1 << log2) - 1) == 0
    }
}
