// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clock as programs see it: one page, read-only to them, that the vDSO reads instead of making a system
//! call.
//!
//! [`VvarData`] is its layout, shared with `kernel/linux/vdso/vdso.c`. A reader takes `sequence` before and
//! after: odd, or different, means that a change is under way. Nanoseconds are `origin_ns + (tsc -
//! origin_tsc) * rate / 2^32` from the origin on, and with `rate_before` before it.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, Ordering, fence};

use crate::clock::State;

/// What the page holds from its first byte on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub struct VvarData {
    /// Odd while the rest changes; advanced by two with every change.
    pub sequence: u32,
    /// [`FEATURE_RDTSCP`] and later ones.
    pub features: u32,
    /// The tick at which the rate changes.
    pub origin_tsc: u64,
    /// Monotonic nanoseconds at that tick.
    pub origin_ns: u64,
    /// Nanoseconds per tick from there on, times 2^32.
    pub rate: u64,
    /// Nanoseconds per tick before, times 2^32.
    pub rate_before: u64,
    /// Nanoseconds since 1970 minus monotonic nanoseconds.
    pub realtime_offset_ns: i64,
    /// Fraction of a nanosecond at the origin, times 2^32.
    pub origin_fraction: u32,
    /// Zero.
    pub reserved: u32,
}

/// RDTSCP works and returns `zone << 12 | cpu` in ECX.
pub const FEATURE_RDTSCP: u32 = 1 << 0;
/// Length of the page.
pub const PAGE_BYTES: usize = 4096;

/// The page as the kernel writes it.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    words: &'static [AtomicU32],
}

impl Page {
    /// The page made of these words, which nobody else writes.
    ///
    /// # Panics
    /// If it is shorter than [`VvarData`].
    pub fn new(words: &'static [AtomicU32], features: u32) -> Self {
        assert!(size_of_val(words) >= size_of::<VvarData>(), "vvar page is too short");
        // Programs see all of the page, so nothing of its former content may stay.
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
        let page = Self { words };
        page.word(offset_of!(VvarData, features)).store(features, Ordering::Relaxed);
        page
    }

    /// Shows a state; the caller excludes other writers.
    pub(crate) fn publish(&self, state: &State) {
        let sequence = self.word(offset_of!(VvarData, sequence));
        let before = sequence.load(Ordering::Relaxed);
        sequence.store(before.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        let line = &state.line;
        self.store(offset_of!(VvarData, origin_tsc), line.origin_tsc);
        self.store(offset_of!(VvarData, origin_ns), line.origin_ns);
        self.store(offset_of!(VvarData, rate), line.rate.0);
        self.store(offset_of!(VvarData, rate_before), line.rate_before.0);
        self.store(offset_of!(VvarData, realtime_offset_ns), state.realtime_offset_ns.cast_unsigned());
        self.word(offset_of!(VvarData, origin_fraction)).store(line.origin_fraction, Ordering::Relaxed);
        sequence.store(before.wrapping_add(2), Ordering::Release);
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        &self.words[offset / size_of::<u32>()]
    }

    fn store(&self, offset: usize, value: u64) {
        self.word(offset).store(value as u32, Ordering::Relaxed);
        self.word(offset + size_of::<u32>()).store((value >> 32) as u32, Ordering::Relaxed);
    }
}

/// Shows the system's clock on the page made of these words from now on; `features` are the `FEATURE_` bits
/// that hold on every CPU.
pub fn attach(words: &'static [AtomicU32], features: u32) {
    crate::system::CLOCK.attach(Page::new(words, features));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::line::{Line, Rate};

    #[test]
    fn layout_is_that_of_the_c_side() {
        let offsets = [
            offset_of!(VvarData, sequence),
            offset_of!(VvarData, features),
            offset_of!(VvarData, origin_tsc),
            offset_of!(VvarData, origin_ns),
            offset_of!(VvarData, rate),
            offset_of!(VvarData, rate_before),
            offset_of!(VvarData, realtime_offset_ns),
            offset_of!(VvarData, origin_fraction),
        ];
        assert_eq!(offsets, [0, 4, 8, 16, 24, 32, 40, 48]);
        assert_eq!(size_of::<VvarData>(), 56);
    }

    #[test]
    fn every_state_is_shown() {
        let words: Vec<AtomicU32> = (0..PAGE_BYTES / 4).map(|_| AtomicU32::new(99)).collect();
        let words: &'static [AtomicU32] = words.leak();
        let value = |offset: usize| {
            let [low, high] = [0, 1].map(|word| u64::from(words[offset / 4 + word].load(Ordering::Relaxed)));
            high << 32 | low
        };
        let clock = Clock::new();
        let line = Line::starting(1 << 40, Rate::from_hz(1_500_000_000)).bent((1 << 40) + 1, Rate(7));
        clock.update(|_| State { line, realtime_offset_ns: -5 });
        clock.attach(Page::new(words, FEATURE_RDTSCP));
        assert_eq!(value(0), 1 << 32 | 2);
        assert_eq!([value(8), value(16), value(24)], [(1 << 40) + 1, 0, 7]);
        assert_eq!(value(32), line.rate_before.0);
        assert_eq!(value(40).cast_signed(), -5);
        assert_eq!(value(48), u64::from(line.origin_fraction));
        clock.update(|state| State { realtime_offset_ns: 6, ..state });
        assert_eq!((value(0) as u32, value(40)), (4, 6));
    }
}
