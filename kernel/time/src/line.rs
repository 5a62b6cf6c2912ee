// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The function from the time-stamp counter to nanoseconds: two half-lines that meet in one point.
//!
//! Nanoseconds are kept with 32 binary places and computed with 128 bits, so nothing overflows within the
//! counter's own range and no fraction is lost when the rate changes. [`Line::bent`] changes the rate at a
//! point in the near future: up to there the new function equals the old one exactly, so it does not matter
//! which of the two a CPU uses until then, and time neither jumps nor runs backwards on any of them.

use crate::NS_PER_SECOND;

/// Binary places of a nanosecond in [`Line`] and in [`crate::vvar`].
pub const FRACTION_BITS: u32 = 32;

/// A rate: nanoseconds for one tick of the counter, with [`FRACTION_BITS`] binary places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

impl Rate {
    /// The rate of a counter of this frequency, rounded to nearest; a frequency of 0 gives a clock that
    /// stands.
    pub fn from_hz(hz: u64) -> Self {
        let one_second = u128::from(NS_PER_SECOND) << FRACTION_BITS;
        let half = u128::from(hz / 2);
        let rate = (one_second + half).checked_div(u128::from(hz)).unwrap_or(0);
        Self(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Nanoseconds for so many ticks, rounded down.
    pub fn duration_ns(self, ticks: u64) -> u64 {
        (self.over(ticks) >> FRACTION_BITS) as u64
    }

    fn over(self, ticks: u64) -> u128 {
        u128::from(ticks) * u128::from(self.0)
    }
}

/// The function from ticks to nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line {
    /// The tick at which the two half-lines meet.
    pub origin_tsc: u64,
    /// Nanoseconds at that tick.
    pub origin_ns: u64,
    /// The binary places of `origin_ns`.
    pub origin_fraction: u32,
    /// Rate from the origin on.
    pub rate: Rate,
    /// Rate before the origin.
    pub rate_before: Rate,
}

impl Line {
    /// The clock that stands at zero for ever.
    pub const STOPPED: Self = Self::starting(0, Rate(0));

    /// The clock that shows zero at this tick, and before it.
    pub const fn starting(tsc: u64, rate: Rate) -> Self {
        Self { origin_tsc: tsc, origin_ns: 0, origin_fraction: 0, rate, rate_before: rate }
    }

    /// Nanoseconds at a tick; never decreases as the tick grows.
    pub fn ns_at(&self, tsc: u64) -> u64 {
        (self.fixed_at(tsc) >> FRACTION_BITS) as u64
    }

    /// The first tick at which the clock shows `ns` or more; the last tick there is when it never does.
    pub fn tsc_at(&self, ns: u64) -> u64 {
        let wanted = u128::from(ns) << FRACTION_BITS;
        let origin = self.origin();
        let ticks = |distance: u128, rate: Rate| {
            let ticks = distance.checked_div(u128::from(rate.0)).unwrap_or(u128::MAX);
            u64::try_from(ticks).unwrap_or(u64::MAX)
        };
        if wanted > origin {
            // Rounded up: at the tick before, the deadline would not have been reached.
            let after = ticks(wanted - origin + u128::from(self.rate.0.saturating_sub(1)), self.rate);
            self.origin_tsc.saturating_add(after)
        } else {
            self.origin_tsc.saturating_sub(ticks(origin - wanted, self.rate_before))
        }
    }

    /// The clock that agrees with this one up to the tick `at_tsc` and then runs at `rate`.
    ///
    /// `at_tsc` must not lie before this line's own origin: only one bend is remembered.
    pub fn bent(&self, at_tsc: u64, rate: Rate) -> Self {
        let at_tsc = at_tsc.max(self.origin_tsc);
        let fixed = self.fixed_at(at_tsc);
        Self {
            origin_tsc: at_tsc,
            origin_ns: (fixed >> FRACTION_BITS) as u64,
            origin_fraction: fixed as u32,
            rate,
            rate_before: self.rate,
        }
    }

    fn origin(&self) -> u128 {
        u128::from(self.origin_ns) << FRACTION_BITS | u128::from(self.origin_fraction)
    }

    fn fixed_at(&self, tsc: u64) -> u128 {
        match tsc.checked_sub(self.origin_tsc) {
            Some(after) => self.origin() + self.rate.over(after),
            None => self.origin().saturating_sub(self.rate_before.over(self.origin_tsc - tsc)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The slowest and the fastest counter that the kernel accepts.
    const HZ: core::ops::Range<u64> = 100_000_000..20_000_000_000;
    const CENTURY_S: u64 = 100 * 366 * 86_400;

    #[test]
    fn whole_seconds() {
        let line = Line::starting(1000, Rate::from_hz(1_000_000_000));
        assert_eq!(line.ns_at(1000), 0);
        assert_eq!(line.ns_at(0), 0);
        assert_eq!(line.ns_at(3_000_001_000), 3_000_000_000);
        assert_eq!(Line::STOPPED.ns_at(u64::MAX), 0);
        assert_eq!(Line::STOPPED.tsc_at(1), u64::MAX);
        assert_eq!(Rate::from_hz(0), Rate(0));
    }

    proptest! {
        #[test]
        fn a_century_is_right_to_one_part_in_a_hundred_million(hz in HZ.start..5_000_000_000, seconds in 1..CENTURY_S) {
            let line = Line::starting(0, Rate::from_hz(hz));
            let expected = seconds * NS_PER_SECOND;
            prop_assert!(line.ns_at(hz * seconds).abs_diff(expected) <= expected / 100_000_000 + 1);
        }

        #[test]
        fn bending_keeps_the_past_and_order(
            start in 0..u64::MAX / 4,
            first_hz in HZ,
            changes in proptest::collection::vec((0_u64..1 << 40, HZ), 1..6),
            probes in proptest::collection::vec(0_u64..1 << 42, 2..50),
        ) {
            let mut line = Line::starting(start, Rate::from_hz(first_hz));
            let mut probes: Vec<u64> = probes.iter().map(|probe| start + probe).collect();
            probes.sort_unstable();
            for (after, hz) in changes {
                let at = line.origin_tsc + after;
                let bent = line.bent(at, Rate::from_hz(hz));
                for probe in probes.iter().copied().filter(|probe| (line.origin_tsc..=at).contains(probe)) {
                    prop_assert_eq!(bent.ns_at(probe), line.ns_at(probe));
                }
                prop_assert!(probes.is_sorted_by_key(|&probe| bent.ns_at(probe)));
                line = bent;
            }
        }

        #[test]
        fn deadlines_are_met_at_their_tick_and_not_before(
            start in 0..u64::MAX / 4, hz in HZ, later_hz in HZ, after in 0_u64..1 << 40, ns in 1_u64..1 << 50,
        ) {
            let line = Line::starting(start, Rate::from_hz(hz)).bent(start + after, Rate::from_hz(later_hz));
            let tick = line.tsc_at(ns);
            prop_assert!(line.ns_at(tick) >= ns);
            prop_assert!(line.ns_at(tick - 1) < ns);
        }

        #[test]
        fn nothing_overflows(
            origin_tsc: u64, tsc: u64, rate in 0_u64..1 << 43, rate_before in 0_u64..1 << 43, ns: u64, fraction: u32,
        ) {
            let line = Line {
                origin_tsc,
                origin_ns: ns,
                origin_fraction: fraction,
                rate: Rate(rate),
                rate_before: Rate(rate_before),
            };
            line.ns_at(tsc);
            line.tsc_at(ns);
            line.bent(tsc, Rate(rate_before));
        }
    }
}
