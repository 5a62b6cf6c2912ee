// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measuring the time-stamp counter against a counter of known frequency.
//!
//! A reading of the reference is worth as much as the two readings of the time-stamp counter around it are
//! close ([`Sample`]), so each end of the interval is the best of several. [`begin`] and [`measure`] are at boot: the
//! interval ends as soon as the result is right to a thousandth, which under instruction counting takes 50 us,
//! and after half a millisecond in any case. [`remeasure`] repeats the end of that interval much later, which
//! makes it exact.

use crate::frequency::PLAUSIBLE_HZ;

/// A counter of known frequency that wraps at a power of two.
pub trait Counter {
    /// Number of bits that count.
    fn bits(&self) -> u32;
    /// Femtoseconds between two counts.
    fn period_fs(&self) -> u64;
    /// The count, growing.
    fn read(&self) -> u64;
}

/// A reading of the reference with the time-stamp counter's value at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Middle of the two time-stamps around the reading.
    pub tsc: u64,
    /// The reference.
    pub count: u64,
    /// Distance of the two time-stamps.
    pub gap_ticks: u64,
}

/// The result of [`measure`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    /// Frequency of the time-stamp counter.
    pub hz: u64,
    /// The beginning of the interval, from which [`remeasure`] goes on.
    pub first: Sample,
}

const FS_PER_SECOND: u128 = 1_000_000_000_000_000;
/// The interval at boot is long enough when it is this many times the uncertainty of its ends ...
const PRECISION: u64 = 1000;
/// ... but not shorter than this, for what else may disturb it,
const MIN_INTERVAL_FS: u128 = 50_000_000_000;
/// and not longer than this.
const MAX_INTERVAL_FS: u128 = 500_000_000_000;
/// Readings at each end of an interval.
const TRIES: usize = 8;
/// A reference that stands still for so many readings has stopped.
const STALL_READINGS: u32 = 100_000;
/// A later measurement that differs from the one at boot by more than one part in this is wrong itself: the
/// machine was stopped in between, or the reference was.
const MAX_CORRECTION: u64 = 50;
/// A later measurement over less than this would not be better than the one at boot.
const MIN_REMEASURE_FS: u128 = 10_000_000_000_000;

/// One reading. Never inlined: the first execution of any code is slow, above all under emulation, so all
/// readings must be the same code for the best of them to be a good one.
#[inline(never)]
fn sample(reference: &impl Counter, tsc: &impl Fn() -> u64) -> Sample {
    let before = tsc();
    let count = reference.read();
    let gap_ticks = tsc().saturating_sub(before);
    Sample { tsc: before + gap_ticks / 2, count, gap_ticks }
}

/// The best of several readings.
fn best_sample(reference: &impl Counter, tsc: &impl Fn() -> u64) -> Sample {
    let mut best = sample(reference, tsc);
    for _ in 1..TRIES {
        let next = sample(reference, tsc);
        if next.gap_ticks < best.gap_ticks {
            best = next;
        }
    }
    best
}

/// The beginning of an interval. What is done until [`measure`] takes its end need not be waited for.
pub fn begin(reference: &impl Counter, tsc: impl Fn() -> u64) -> Sample {
    best_sample(reference, &tsc)
}

/// Measures the counter's frequency from `first` on, which lies back by less than a turn of the reference; waits at most half
/// a millisecond. `None` when the reference does not count.
pub fn measure(reference: &impl Counter, tsc: impl Fn() -> u64, first: Sample) -> Option<Measurement> {
    let mut stalled = 0;
    let mut last_count = first.count;
    loop {
        let now = sample(reference, &tsc);
        if now.count == last_count {
            stalled += 1;
            if stalled == STALL_READINGS {
                return None;
            }
        } else {
            (stalled, last_count) = (0, now.count);
        }
        let counts = wrapped_distance(first.count, now.count, reference.bits());
        let elapsed_fs = u128::from(counts) * u128::from(reference.period_fs());
        let uncertainty = (first.gap_ticks + now.gap_ticks).saturating_mul(PRECISION);
        let exact = now.tsc.saturating_sub(first.tsc) >= uncertainty && counts >= PRECISION;
        if elapsed_fs >= MAX_INTERVAL_FS || exact && elapsed_fs >= MIN_INTERVAL_FS {
            break;
        }
    }
    let last = best_sample(reference, &tsc);
    let counts = wrapped_distance(first.count, last.count, reference.bits());
    let hz = frequency(last.tsc.checked_sub(first.tsc)?, counts, reference.period_fs())?;
    Some(Measurement { hz, first })
}

/// Measures again over the whole time since `boot` was begun; `None` when that is too short, or when the
/// result is too far from the first to be believed.
pub fn remeasure(reference: &impl Counter, tsc: impl Fn() -> u64, boot: &Measurement) -> Option<u64> {
    let last = best_sample(reference, &tsc);
    let ticks = last.tsc.checked_sub(boot.first.tsc)?;
    let elapsed_fs = u128::from(ticks) * FS_PER_SECOND / u128::from(boot.hz.max(1));
    if elapsed_fs < MIN_REMEASURE_FS {
        return None;
    }
    // The reference has wrapped a number of times that the first measurement is good enough to tell.
    let expected = u64::try_from(elapsed_fs / u128::from(reference.period_fs())).ok()?;
    let counts = unwrapped_distance(boot.first.count, last.count, reference.bits(), expected);
    let hz = frequency(ticks, counts, reference.period_fs())?;
    (hz.abs_diff(boot.hz) <= boot.hz / MAX_CORRECTION).then_some(hz)
}

/// Distance from one count to a later one less than a full turn away.
fn wrapped_distance(from: u64, to: u64, bits: u32) -> u64 {
    to.wrapping_sub(from) & turn_mask(bits)
}

/// Distance from one count to a later one about `expected` away, less than half a turn off.
fn unwrapped_distance(from: u64, to: u64, bits: u32, expected: u64) -> u64 {
    let within_turn = wrapped_distance(from, to, bits);
    let mask = turn_mask(bits);
    let half_turn = mask / 2;
    let error = within_turn.wrapping_sub(expected) & mask;
    if error <= half_turn {
        expected.saturating_add(error)
    } else {
        expected.saturating_sub(mask - error + 1)
    }
}

fn turn_mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// Ticks per second, rounded, when they pass while the reference counts this far.
fn frequency(ticks: u64, counts: u64, period_fs: u64) -> Option<u64> {
    let interval_fs = u128::from(counts) * u128::from(period_fs);
    let scaled = u128::from(ticks).checked_mul(FS_PER_SECOND)?.checked_add(interval_fs / 2)?;
    let hz = u64::try_from(scaled.checked_div(interval_fs)?).ok()?;
    PLAUSIBLE_HZ.contains(&hz).then_some(hz)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    /// A machine whose time advances with every access: by the cost of that access, plus now and then a
    /// delay.
    struct Machine {
        hz: u64,
        bits: u32,
        period_fs: u64,
        read_cost_ns: u64,
        delay_every: u64,
        start_count: u64,
        now_fs: Cell<u128>,
        accesses: Cell<u64>,
    }

    impl Machine {
        fn spend(&self, ns: u64) {
            self.accesses.set(self.accesses.get() + 1);
            let delay_ns = if self.accesses.get().is_multiple_of(self.delay_every) { 40_000 } else { 0 };
            self.now_fs.set(self.now_fs.get() + u128::from(ns + delay_ns) * 1_000_000);
        }

        fn tsc(&self) -> u64 {
            self.spend(5);
            (self.now_fs.get() * u128::from(self.hz) / FS_PER_SECOND) as u64
        }

        fn pass_ms(&self, ms: u64) {
            self.now_fs.set(self.now_fs.get() + u128::from(ms) * 1_000_000_000_000);
        }
    }

    impl Counter for Machine {
        fn bits(&self) -> u32 {
            self.bits
        }

        fn period_fs(&self) -> u64 {
            self.period_fs
        }

        fn read(&self) -> u64 {
            self.spend(self.read_cost_ns / 2);
            let count = self.start_count + (self.now_fs.get() / u128::from(self.period_fs)) as u64;
            self.spend(self.read_cost_ns / 2);
            count & turn_mask(self.bits)
        }
    }

    fn hpet(hz: u64, read_cost_ns: u64) -> Machine {
        Machine {
            hz,
            bits: 32,
            period_fs: 10_000_000,
            read_cost_ns,
            delay_every: 17,
            start_count: 0xffff_f000,
            now_fs: Cell::new(7_000_000),
            accesses: Cell::new(0),
        }
    }

    fn pit(hz: u64) -> Machine {
        let period_fs = FS_PER_SECOND as u64 / 1_193_182;
        Machine { bits: 16, period_fs, start_count: 0xfff0, ..hpet(hz, 3000) }
    }

    /// The measurement at boot, with nothing else to do meanwhile.
    fn measure_now(machine: &Machine) -> Option<Measurement> {
        measure(machine, || machine.tsc(), begin(machine, || machine.tsc()))
    }

    fn error_ppm(found: u64, truth: u64) -> u64 {
        found.abs_diff(truth) * 1_000_000 / truth
    }

    #[test]
    fn instruction_counting_needs_50_us() {
        let machine = Machine { delay_every: u64::MAX, ..hpet(1_000_000_000, 10) };
        let found = measure_now(&machine).unwrap();
        assert!(error_ppm(found.hz, machine.hz) <= 500, "{found:?}");
        assert!(machine.now_fs.get() < 60_000_000_000, "{} fs", machine.now_fs.get());
    }

    #[test]
    fn a_slow_reference_needs_half_a_millisecond() {
        let machine = Machine { delay_every: u64::MAX, ..hpet(3_000_000_000, 2000) };
        let found = measure_now(&machine).unwrap();
        assert!(error_ppm(found.hz, machine.hz) <= 2000, "{found:?}");
        assert!(machine.now_fs.get() < 560_000_000_000, "{} fs", machine.now_fs.get());
    }

    #[test]
    fn an_interval_that_has_passed_already_is_not_waited_for() {
        let machine = Machine { delay_every: u64::MAX, ..hpet(2_000_000_000, 500) };
        let first = begin(&machine, || machine.tsc());
        machine.pass_ms(5);
        let before_fs = machine.now_fs.get();
        let found = measure(&machine, || machine.tsc(), first).unwrap();
        assert!(error_ppm(found.hz, machine.hz) <= 200, "{found:?}");
        assert!(machine.now_fs.get() - before_fs < 10_000_000_000, "{} fs", machine.now_fs.get() - before_fs);
    }

    #[test]
    fn a_stopped_reference_is_noticed() {
        let machine = Machine { period_fs: u64::MAX, ..hpet(3_000_000_000, 100) };
        assert_eq!(measure_now(&machine), None);
    }

    #[test]
    fn a_machine_that_was_stopped_keeps_its_first_measurement() {
        let machine = hpet(3_000_000_000, 300);
        let boot = measure_now(&machine).unwrap();
        assert_eq!(remeasure(&machine, || machine.tsc(), &boot), None, "too early");
        machine.pass_ms(100);
        let resumed = || machine.tsc() + 3_000_000_000;
        assert_eq!(remeasure(&machine, resumed, &boot), None, "the counter jumped ahead by a second");
    }

    proptest! {
        #[test]
        fn hpet_is_close_at_boot_and_exact_later(
            hz in 500_000_000_u64..6_000_000_000, cost in 20_u64..2500, start in 0_u64..1 << 32,
        ) {
            let machine = Machine { start_count: start, ..hpet(hz, cost) };
            let boot = measure_now(&machine).unwrap();
            prop_assert!(error_ppm(boot.hz, hz) <= 6000, "{boot:?}");
            machine.pass_ms(100);
            let later = remeasure(&machine, || machine.tsc(), &boot).unwrap();
            prop_assert!(error_ppm(later, hz) <= 30, "{later}");
            machine.pass_ms(900);
            let last = remeasure(&machine, || machine.tsc(), &Measurement { hz: later, ..boot }).unwrap();
            prop_assert!(error_ppm(last, hz) <= 3, "{last}");
        }

        #[test]
        fn pit_wraps_are_counted(hz in 500_000_000_u64..6_000_000_000, start in 0_u64..1 << 16) {
            let machine = Machine { start_count: start, ..pit(hz) };
            let boot = measure_now(&machine).unwrap();
            prop_assert!(error_ppm(boot.hz, hz) <= 15_000, "{boot:?}");
            machine.pass_ms(100);
            let later = remeasure(&machine, || machine.tsc(), &boot).unwrap();
            prop_assert!(error_ppm(later, hz) <= 60, "{later}");
            machine.pass_ms(900);
            let last = remeasure(&machine, || machine.tsc(), &Measurement { hz: later, ..boot }).unwrap();
            prop_assert!(error_ppm(last, hz) <= 6, "{last}");
        }

        #[test]
        fn unwrapping_finds_the_turn(from: u64, distance in 0_u64..1 << 60, bits in 8_u32..=64, off in -100_i64..100) {
            let from = from & turn_mask(bits);
            let to = from.wrapping_add(distance) & turn_mask(bits);
            let expected = distance.saturating_add_signed(off);
            prop_assert_eq!(unwrapped_distance(from, to, bits, expected), distance);
        }
    }
}
