// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Admission: what a CPU has promised, and whether it can promise more. Arithmetic only.
//!
//! Earliest deadline first keeps every promise on one CPU as long as the sum of work by period is at most the whole CPU
//! (Liu and Layland 1973); a promise whose deadline is its own counts as work by deadline, which is sufficient. The limit is
//! below the whole, for what the kernel itself needs ([`UTILISATION_LIMIT_PPM`]).
//!
//! A member of a group has to start soon after its period begins, too. Whatever their deadlines, the other promises delay it
//! by no longer than they can keep the CPU busy without it: the least `w` with `w = sum of (floor(w / period) + 1) * work`,
//! which is found by iteration from below.

use alloc::vec::Vec;

use crate::realtime::{PERIOD_LEAST_NS, PERIOD_MOST_NS, Refusal, UTILISATION_LIMIT_PPM, WORK_LEAST_NS};

/// A promise to one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// The thread's index.
    pub(crate) thread: u32,
    /// Period, or relative deadline.
    pub(crate) period_ns: u64,
    /// CPU time in each.
    pub(crate) work_ns: u64,
    /// How late it may start, for a member of a group.
    pub(crate) skew_ns: Option<u64>,
}

impl Promise {
    fn check(&self) -> Result<(), Refusal> {
        let Self { period_ns, work_ns, .. } = *self;
        if !(PERIOD_LEAST_NS..=PERIOD_MOST_NS).contains(&period_ns) {
            return Err(Refusal::Period { period_ns });
        }
        if !(WORK_LEAST_NS..=period_ns).contains(&work_ns) {
            return Err(Refusal::Work { work_ns, period_ns });
        }
        Ok(())
    }

    /// Millionths of the CPU, rounded up.
    fn ppm(&self) -> u64 {
        (u128::from(self.work_ns) * 1_000_000).div_ceil(u128::from(self.period_ns)) as u64
    }
}

/// The promises of one CPU.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    promises: Vec<Promise>,
}

impl Ledger {
    pub(crate) const fn new() -> Self {
        Self { promises: Vec::new() }
    }

    /// Adds a promise, in the place of an earlier one to the same thread, or says why not; then nothing has changed.
    pub(crate) fn admit(&mut self, cpu: usize, promise: Promise) -> Result<(), Refusal> {
        promise.check()?;
        self.promises.try_reserve(1).map_err(|_| Refusal::NoMemory)?;
        let others = || self.promises.iter().filter(|other| other.thread != promise.thread);
        let promised_ppm = others().map(Promise::ppm).sum();
        let asked_ppm = promise.ppm();
        if promised_ppm + asked_ppm > UTILISATION_LIMIT_PPM {
            return Err(Refusal::Utilisation { cpu, asked_ppm, promised_ppm });
        }
        // The new one must not be late, and must not make those late that were admitted.
        for member in others().chain([&promise]) {
            let Some(skew_ns) = member.skew_ns else { continue };
            let before = others().chain([&promise]).filter(|other| other.thread != member.thread);
            let delay_ns = busy_ns(before, skew_ns);
            if delay_ns > skew_ns {
                return Err(Refusal::Skew { cpu, delay_ns, skew_ns });
            }
        }
        self.withdraw(promise.thread);
        self.promises.push(promise);
        Ok(())
    }

    /// Ends the promise to a thread, if there is one.
    pub(crate) fn withdraw(&mut self, thread: u32) {
        self.promises.retain(|promise| promise.thread != thread);
    }
}

/// How long promises can keep the CPU busy from the moment when all of them begin a period; stops counting beyond `enough`.
fn busy_ns<'a>(promises: impl Iterator<Item = &'a Promise> + Clone, enough: u64) -> u64 {
    let mut busy: u64 = promises.clone().map(|promise| promise.work_ns).sum();
    loop {
        let next = promises.clone().map(|promise| (busy / promise.period_ns + 1) * promise.work_ns).sum();
        if next == busy || busy > enough {
            return busy;
        }
        busy = next;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Ledger, Promise, busy_ns};
    use crate::realtime::Refusal;
    use proptest::prelude::*;
    use std::vec::Vec;

    const MS: u64 = 1_000_000;

    fn promise(thread: u32, work_ns: u64, period_ns: u64) -> Promise {
        Promise { thread, period_ns, work_ns, skew_ns: None }
    }

    #[test]
    fn promises_add_up_to_the_limit() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.admit(0, promise(1, 5 * MS, 10 * MS)), Ok(()));
        assert_eq!(ledger.admit(0, promise(2, 4 * MS, 10 * MS)), Ok(()));
        let refusal = Refusal::Utilisation { cpu: 0, asked_ppm: 1000, promised_ppm: 900_000 };
        assert_eq!(ledger.admit(0, promise(3, MS / 10, 100 * MS)), Err(refusal));
        // A thread's new promise takes the place of its old one.
        assert_eq!(ledger.admit(0, promise(2, MS, 10 * MS)), Ok(()));
        assert_eq!(ledger.admit(0, promise(3, MS / 10, 100 * MS)), Ok(()));
        ledger.withdraw(1);
        assert_eq!(ledger.promises.len(), 2);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let mut ledger = Ledger::new();
        assert_eq!(ledger.admit(0, promise(1, 50_000, 99_999)), Err(Refusal::Period { period_ns: 99_999 }));
        assert_eq!(
            ledger.admit(0, promise(1, 9_999, MS)),
            Err(Refusal::Work { work_ns: 9_999, period_ns: MS })
        );
        assert_eq!(
            ledger.admit(0, promise(1, 2 * MS, MS)),
            Err(Refusal::Work { work_ns: 2 * MS, period_ns: MS })
        );
        assert!(ledger.admit(0, promise(1, u64::MAX, u64::MAX)).is_err());
        assert_eq!(ledger.promises.len(), 0);
    }

    #[test]
    fn others_may_not_delay_a_member_beyond_its_skew() {
        let member = |skew_ns| Promise { skew_ns: Some(skew_ns), ..promise(1, MS, 10 * MS) };
        let mut ledger = Ledger::new();
        assert_eq!(ledger.admit(4, member(0)), Ok(()));
        let late = Refusal::Skew { cpu: 4, delay_ns: MS, skew_ns: 0 };
        assert_eq!(ledger.admit(4, promise(2, MS, 20 * MS)), Err(late));
        assert_eq!(ledger.admit(4, member(MS)), Ok(()));
        assert_eq!(ledger.admit(4, promise(2, MS, 20 * MS)), Ok(()));
        // A second one would follow the first.
        let late = Refusal::Skew { cpu: 4, delay_ns: MS + MS / 10, skew_ns: MS };
        assert_eq!(ledger.admit(4, promise(3, MS / 10, 20 * MS)), Err(late));
    }

    fn promises() -> impl Strategy<Value = Vec<Promise>> {
        prop::collection::vec((1u64..40, 1u64..40), 1..6).prop_map(|pairs| {
            let pairs = pairs.into_iter().enumerate();
            pairs
                .map(|(thread, (work, extra))| {
                    promise(thread as u32, work * 10_000, (work + extra) * 100_000)
                })
                .collect()
        })
    }

    proptest! {
        /// Simulates earliest deadline first in steps of 10 us over two hyper-seconds of whatever was admitted, all in phase
        /// (the worst case): nothing is late, and without the others a member never waits longer than [`busy_ns`].
        #[test]
        fn what_is_admitted_is_kept(wanted in promises()) {
            let mut ledger = Ledger::new();
            for promise in wanted {
                let _ = ledger.admit(0, promise);
            }
            const STEP: u64 = 10_000;
            let mut jobs: Vec<(u64, u64)> = ledger.promises.iter().map(|p| (p.period_ns, p.work_ns)).collect();
            let mut first_idle = None;
            for now in (0..40_000_000).step_by(STEP as usize) {
                for (job, promise) in jobs.iter_mut().zip(&ledger.promises) {
                    if now == job.0 {
                        prop_assert_eq!(job.1, 0, "late");
                        *job = (job.0 + promise.period_ns, promise.work_ns);
                    }
                }
                match jobs.iter_mut().filter(|job| job.1 > 0).min_by_key(|job| job.0) {
                    Some(job) => job.1 -= STEP,
                    None => first_idle = first_idle.or(Some(now)),
                }
            }
            if let Some(first_idle) = first_idle {
                prop_assert_eq!(busy_ns(ledger.promises.iter(), u64::MAX), first_idle);
            }
        }
    }
}
