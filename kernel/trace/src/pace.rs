// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When the next sample of a profile is due.
//!
//! The time between two samples is random, so that they do not keep step with a program that does the same in every
//! millisecond: they would always meet it at the same place, and never at others. The numbers follow from the start, for runs
//! that are to repeat exactly.

use core::sync::atomic::{AtomicU64, Ordering};

/// The intervals between samples of one CPU.
#[derive(Debug)]
pub struct Pace {
    mean_ns: u64,
    state: AtomicU64,
}

impl Pace {
    /// Intervals of `mean_ns` on average, from half of that to one and a half; each CPU has others.
    pub fn new(mean_ns: u64, cpu: usize) -> Self {
        let state = (cpu as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { mean_ns, state: AtomicU64::new(state) }
    }

    /// The next interval, in nanoseconds. For the CPU that samples, one caller at a time.
    pub fn next_ns(&self) -> u64 {
        // xorshift64 (Marsaglia 2003); the upper bits are the better ones.
        let mut state = self.state.load(Ordering::Relaxed);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        self.state.store(state, Ordering::Relaxed);
        self.mean_ns / 2 + ((u128::from(state) * u128::from(self.mean_ns + 1)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_their_mean_and_meet_every_part_of_a_period() {
        let pace = Pace::new(1_000_000, 3);
        let (mut now, mut parts) = (0, [0; 8]);
        for _ in 0..8_000 {
            let interval = pace.next_ns();
            assert!((500_000..=1_500_000).contains(&interval), "{interval}");
            now += interval;
            parts[(now % 1_000_000 / 125_000) as usize] += 1;
        }
        assert!((7_800_000_000..8_200_000_000).contains(&now), "{now}");
        assert!(parts.iter().all(|&count| (800..1200).contains(&count)), "{parts:?}");
    }

    #[test]
    fn intervals_follow_from_the_cpu() {
        let intervals = |cpu| {
            let pace = Pace::new(1_000, cpu);
            [(); 4].map(|()| pace.next_ns())
        };
        assert_eq!(intervals(1), intervals(1));
        assert_ne!(intervals(0), intervals(1));
    }
}
