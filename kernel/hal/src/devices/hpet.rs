// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The high precision event timer, as a counter of known frequency.
//!
//! Only its main counter is used, to measure the time-stamp counter against ([`Hpet::read_low`]); its
//! comparators stay off. Registers are accessed 32 bits at a time: some emulations answer 64-bit accesses
//! with zero.

use crate::memory::mmio::Region;

/// Bytes of registers that this driver needs mapped.
pub const REGION_BYTES: usize = 0x400;

const CAPABILITIES: usize = 0x00;
const PERIOD_FS: usize = 0x04;
const CONFIGURATION: usize = 0x10;
const COUNTER_LOW: usize = 0xf0;
const COUNTER_HIGH: usize = 0xf4;

const CAPABILITY_64_BIT: u32 = 1 << 13;
const ENABLE: u32 = 1 << 0;
const LEGACY_REPLACEMENT: u32 = 1 << 1;
/// The standard's upper limit: at least 10 MHz.
const MAX_PERIOD_FS: u32 = 100_000_000;
/// Reads after which a counter that has not moved counts as stopped.
const LIVENESS_READS: u32 = 10_000;

/// A running high precision event timer.
#[derive(Clone, Copy, Debug)]
pub struct Hpet {
    region: Region,
    period_fs: u32,
    is_64_bit: bool,
}

impl Hpet {
    /// Starts the counter behind these registers; `None` when there is no working timer.
    pub fn open(region: Region) -> Option<Self> {
        let period_fs = region.read32(PERIOD_FS);
        if !(1..=MAX_PERIOD_FS).contains(&period_fs) {
            return None;
        }
        let is_64_bit = region.read32(CAPABILITIES) & CAPABILITY_64_BIT != 0;
        let configuration = region.read32(CONFIGURATION);
        region.write32(CONFIGURATION, configuration & !LEGACY_REPLACEMENT | ENABLE);
        let timer = Self { region, period_fs, is_64_bit };
        let first = timer.read_low();
        (0..LIVENESS_READS).any(|_| timer.read_low() != first).then_some(timer)
    }

    /// Femtoseconds between two counts.
    pub fn period_fs(&self) -> u32 {
        self.period_fs
    }

    /// Whether the counter is 64 bits wide; otherwise [`Self::read`] wraps with [`Self::read_low`].
    pub fn is_64_bit(&self) -> bool {
        self.is_64_bit
    }

    /// The low half of the counter, in one register access.
    pub fn read_low(&self) -> u32 {
        self.region.read32(COUNTER_LOW)
    }

    /// The whole counter, in at least three register accesses.
    pub fn read(&self) -> u64 {
        if !self.is_64_bit {
            return self.read_low().into();
        }
        loop {
            let high = self.region.read32(COUNTER_HIGH);
            let low = self.read_low();
            if self.region.read32(COUNTER_HIGH) == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }
}
