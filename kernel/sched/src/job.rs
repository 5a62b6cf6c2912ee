// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The current job of a real-time thread: one period's work, its deadline, and what is left of it. Arithmetic only.
//!
//! Periods begin at multiples of the period from the start on, whatever happens in between: a thread that is late, or was
//! away, goes on with the period that it finds, so members of a group stay in phase without talking to each other.

/// Which kind of promise it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Another job follows.
    Periodic {
        /// Distance of the jobs.
        period_ns: u64,
    },
    /// The only one.
    Sporadic,
    /// Without a budget.
    Aperiodic,
}

/// One job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) kind: Kind,
    /// It may run from here on.
    pub(crate) release_ns: u64,
    /// It should be done by then.
    pub(crate) deadline_ns: u64,
    /// CPU time of a whole job.
    work_ns: u64,
    /// CPU time that it may still use.
    pub(crate) left_ns: u64,
    /// The thread has said that it is done and waits for the release.
    waits: bool,
    /// Periods whose work was not done in time, since the promise was made.
    pub(crate) missed: u64,
}

impl Job {
    /// The first job of a periodic thread.
    pub(crate) fn periodic(period_ns: u64, work_ns: u64, start_ns: u64) -> Self {
        Self::new(Kind::Periodic { period_ns }, start_ns, period_ns, work_ns)
    }

    /// The job of a sporadic thread.
    pub(crate) fn sporadic(work_ns: u64, start_ns: u64, deadline_ns: u64) -> Self {
        Self::new(Kind::Sporadic, start_ns, deadline_ns, work_ns)
    }

    /// The endless job of an aperiodic thread.
    pub(crate) fn aperiodic(start_ns: u64, deadline_ns: u64) -> Self {
        Self::new(Kind::Aperiodic, start_ns, deadline_ns, u64::MAX)
    }

    fn new(kind: Kind, release_ns: u64, within_ns: u64, work_ns: u64) -> Self {
        let deadline_ns = release_ns.saturating_add(within_ns);
        Self { kind, release_ns, deadline_ns, work_ns, left_ns: work_ns, waits: false, missed: 0 }
    }

    /// CPU time of a whole job.
    pub(crate) fn work_ns(&self) -> u64 {
        self.work_ns
    }

    /// Goes on to the period that `now` is in, at least `least` periods further.
    fn advance(&mut self, period_ns: u64, now_ns: u64, least: u64) {
        let periods = (now_ns.saturating_sub(self.release_ns) / period_ns).max(least);
        self.release_ns += periods * period_ns;
        self.deadline_ns = self.release_ns + period_ns;
        self.left_ns = self.work_ns;
    }

    /// The thread wants to run. A period that has passed meanwhile was missed, unless the thread was waiting for its begin.
    pub(crate) fn resume(&mut self, now_ns: u64) {
        let Kind::Periodic { period_ns } = self.kind else { return };
        if now_ns >= self.deadline_ns {
            self.missed += (now_ns - self.release_ns) / period_ns;
            self.advance(period_ns, now_ns, 1);
        }
        if now_ns >= self.release_ns {
            self.waits = false;
        }
    }

    /// The thread has run for a while; returns whether its time is used up.
    pub(crate) fn charge(&mut self, ran_ns: u64) -> bool {
        if self.kind != Kind::Aperiodic {
            self.left_ns = self.left_ns.saturating_sub(ran_ns);
        }
        self.left_ns == 0
    }

    /// The thread's time is used up before it was done: it goes on in the next period, and has missed this one.
    pub(crate) fn overrun(&mut self, now_ns: u64) {
        if let Kind::Periodic { period_ns } = self.kind {
            self.missed += ((now_ns.saturating_sub(self.release_ns)) / period_ns).max(1);
            self.advance(period_ns, now_ns, 1);
            self.waits = true;
        }
    }

    /// The thread is done with its period's work. Afterwards `release_ns` is the begin of the next period that it can serve:
    /// if it is late, that of the current one.
    pub(crate) fn complete(&mut self, now_ns: u64) {
        let Kind::Periodic { period_ns } = self.kind else { return };
        // It was interrupted in its wait and waits again.
        if self.waits && now_ns < self.release_ns {
            return;
        }
        if now_ns > self.deadline_ns {
            self.missed += (now_ns - self.release_ns) / period_ns;
        }
        self.advance(period_ns, now_ns, 1);
        self.waits = now_ns < self.release_ns;
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Job;
    use proptest::prelude::*;

    #[test]
    fn a_thread_in_time_gets_one_job_each_period() {
        let mut job = Job::periodic(100, 30, 1000);
        job.complete(1020);
        assert_eq!((job.release_ns, job.deadline_ns, job.left_ns, job.missed), (1100, 1200, 30, 0));
        // A wake-up before the release, and the call again: nothing changes.
        job.resume(1050);
        job.complete(1060);
        assert_eq!((job.release_ns, job.missed), (1100, 0));
        job.resume(1100);
        job.complete(1200);
        assert_eq!((job.release_ns, job.missed), (1200, 0));
    }

    #[test]
    fn a_late_thread_serves_the_period_it_is_in() {
        let mut job = Job::periodic(100, 30, 1000);
        job.complete(1350);
        assert_eq!((job.release_ns, job.deadline_ns, job.missed), (1300, 1400, 3));
    }

    #[test]
    fn a_thread_that_was_away_misses_periods() {
        let mut job = Job::periodic(100, 30, 1000);
        assert!(!job.charge(20));
        job.resume(1250);
        assert_eq!((job.release_ns, job.left_ns, job.missed), (1200, 30, 2));
    }

    #[test]
    fn time_used_up_waits_for_the_next_period() {
        let mut job = Job::periodic(100, 30, 1000);
        assert!(!job.charge(29) && job.charge(2));
        job.overrun(1040);
        assert_eq!((job.release_ns, job.left_ns, job.missed), (1100, 30, 1));
    }

    #[test]
    fn sporadic_and_aperiodic_jobs_stay_as_they_are() {
        let mut job = Job::sporadic(30, 1000, 500);
        job.resume(5000);
        job.complete(5000);
        assert_eq!((job.deadline_ns, job.missed), (1500, 0));
        assert!(job.charge(30));
        assert!(!Job::aperiodic(0, 7).charge(u64::MAX - 1));
    }

    proptest! {
        /// Whatever happens when, releases stay in phase, never lie more than a period ahead, and time left is never more than
        /// a job's.
        #[test]
        fn periods_stay_in_phase(steps in prop::collection::vec((0u8..4, 0u64..350), 1..60)) {
            let mut job = Job::periodic(100, 30, 1000);
            let mut now = 1000;
            let mut missed = 0;
            for (what, later) in steps {
                now += later;
                match what {
                    0 => job.resume(now),
                    1 => job.complete(now),
                    2 => {
                        job.resume(now);
                        if job.charge(10) {
                            job.overrun(now);
                        }
                    }
                    _ => {}
                }
                prop_assert_eq!(job.release_ns % 100, 0);
                prop_assert_eq!(job.deadline_ns, job.release_ns + 100);
                prop_assert!(job.release_ns <= now + 100 && job.left_ns <= 30);
                prop_assert!(job.missed >= missed && job.missed <= (now - 1000) / 100 + 1);
                missed = job.missed;
            }
        }
    }
}
