// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real-time schedules from request to end: admission, periods, used-up budgets.

use core::fmt;

use hadal_hal::interrupts::irq;
use hadal_hal::sync::atomic::Ordering;
use hadal_time::now_ns;

use crate::admission::Promise;
use crate::cpus::{self, current, here};
use crate::edf;
use crate::job::{Job, Kind};
use crate::quick::park_call;
use crate::realtime::{Realtime, Refusal};
use crate::switch::park;
use crate::thread::{Policy, Thread};
use crate::timers;
use crate::wake::look_again;

/// Gives a thread a real-time schedule on the CPU it is bound to, or else binds it to the one it is on. The calling thread
/// has begun its first period when this returns; another one begins when it is runnable and its start has come.
///
/// An earlier real-time schedule of the thread is replaced; it stays in force when the new one is refused. A thread whose
/// schedule ends takes turns with its equals ([`Policy::RoundRobin`]).
pub fn admit(thread: &'static Thread, wanted: Realtime) -> Result<(), Refusal> {
    let now = now_ns();
    let cpu = thread.bound().unwrap_or_else(|| thread.cpu());
    let start = |start_ns: u64| if start_ns == 0 { now } else { start_ns };
    let (job, promise) = match wanted {
        Realtime::Periodic { period_ns, work_ns, start_ns } => {
            (Job::periodic(period_ns, work_ns, start(start_ns)), Some((period_ns, work_ns)))
        }
        Realtime::Sporadic { work_ns, deadline_ns, start_ns } => {
            let job = Job::sporadic(work_ns, start(start_ns), deadline_ns);
            if job.deadline_ns <= now {
                return Err(Refusal::Late { by_ns: now - job.deadline_ns });
            }
            (job, Some((deadline_ns, work_ns)))
        }
        Realtime::Aperiodic { deadline_ns, start_ns } => (Job::aperiodic(start(start_ns), deadline_ns), None),
    };
    let promise = promise.map(|(period_ns, work_ns)| Promise {
        thread: thread.id(),
        period_ns,
        work_ns,
        skew_ns: None,
    });
    book(thread, cpu, promise)?;
    if job.kind == Kind::Sporadic {
        // Without memory for the timer the promise ends when the thread has used its time, or waits for something.
        let _ = timers::expire_at(cpu, job.deadline_ns, thread);
    }
    begin(thread, cpu, job);
    Ok(())
}

/// Writes a promise into the ledger of a CPU, or takes one out, and makes room for the thread.
pub(crate) fn book(thread: &'static Thread, cpu: usize, promise: Option<Promise>) -> Result<(), Refusal> {
    let edf = &cpus::of(cpu).edf;
    let is_new = !thread.is_realtime();
    if is_new && !edf.enter() {
        return Err(Refusal::NoMemory);
    }
    let mut ledger = edf.ledger.lock();
    let outcome = match promise {
        Some(promise) => ledger.admit(cpu, promise),
        None => {
            ledger.withdraw(thread.id());
            Ok(())
        }
    };
    if outcome.is_err() && is_new {
        edf.depart();
    }
    outcome
}

/// Takes back what [`book`] has done for a thread that has not begun.
pub(crate) fn unbook(thread: &'static Thread, cpu: usize) {
    let edf = &cpus::of(cpu).edf;
    edf.ledger.lock().withdraw(thread.id());
    edf.depart();
}

/// Makes the thread a real-time one.
pub(crate) fn begin(thread: &'static Thread, cpu: usize, job: Job) {
    if thread.bound().is_none() {
        thread.realtime.bound_for_it.store(true, Ordering::Relaxed);
        thread.store_binding(Some(cpu));
    }
    thread.store_policy(Policy::RoundRobin);
    thread.set_job(Some(job));
    thread.changed();
    if thread.is(current()) {
        while now_ns() < job.release_ns && !thread.interrupted() {
            park(Some(job.release_ns));
        }
    }
}

impl Thread {
    /// The real-time schedule that is in force; times to start are those of the current job.
    pub fn realtime(&self) -> Option<Realtime> {
        let job = self.realtime.state.lock().job?;
        let within_ns = job.deadline_ns - job.release_ns;
        Some(match job.kind {
            Kind::Periodic { period_ns } => {
                Realtime::Periodic { period_ns, work_ns: job.work_ns(), start_ns: job.release_ns }
            }
            Kind::Sporadic => Realtime::Sporadic {
                work_ns: job.work_ns(),
                deadline_ns: within_ns,
                start_ns: job.release_ns,
            },
            Kind::Aperiodic => Realtime::Aperiodic { deadline_ns: within_ns, start_ns: job.release_ns },
        })
    }

    /// Makes a real-time thread an ordinary one; what it was promised is free for others.
    #[inline]
    pub fn end_realtime(&'static self) {
        if self.is_realtime() {
            self.break_promise();
        }
    }

    #[inline(never)]
    fn break_promise(&'static self) {
        // The expiry of the schedule, in an interrupt, and others may do the same: whoever takes the job frees its promise.
        let _irq = irq::disable();
        let bound = self.bound();
        if !self.set_job(None) {
            return;
        }
        if let Some(cpu) = bound {
            unbook(self, cpu);
        }
        if self.realtime.bound_for_it.swap(false, Ordering::Relaxed) {
            self.store_binding(None);
        }
        self.changed();
    }
}

/// Why [`wait_period`] did not wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodError {
    /// The calling thread is not periodic.
    NotPeriodic,
    /// A signal is pending; called again, it goes on waiting for the same period.
    Interrupted,
}

impl fmt::Display for PeriodError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::NotPeriodic => "the thread is not periodic",
            Self::Interrupted => "a signal is pending",
        })
    }
}

/// The calling periodic thread is done with this period's work: sleeps until its next period begins. If it is late it goes
/// on at once with the period that it is in. Returns how many deadlines it has missed so far. For calls of a program whose
/// vector registers need not survive, with interrupts on.
pub fn wait_period() -> Result<u64, PeriodError> {
    let thread = current();
    let irq = irq::disable();
    let own = cpus::this();
    let now = now_ns();
    // What it has run so far was for the old job.
    edf::end_turn(own, thread, now);
    let (release_ns, missed) = {
        let mut state = thread.realtime.state.lock();
        let Some(job) = state.job.as_mut().filter(|job| matches!(job.kind, Kind::Periodic { .. })) else {
            drop(state);
            edf::begin_turn(own, thread, now);
            return Err(PeriodError::NotPeriodic);
        };
        let before = job.missed;
        job.complete(now);
        own.counters.missed.add(job.missed - before);
        (job.release_ns, state.missed())
    };
    edf::begin_turn(own, thread, now);
    // The next deadline is later.
    look_again(here(irq.off()));
    drop(irq);
    wait_for_release(thread, release_ns, park_call).map(|()| missed)
}

fn wait_for_release(
    thread: &'static Thread,
    release_ns: u64,
    park: impl Fn(Option<u64>) -> crate::Wake,
) -> Result<(), PeriodError> {
    while now_ns() < release_ns {
        if thread.interrupted() {
            return Err(PeriodError::Interrupted);
        }
        park(Some(release_ns));
    }
    Ok(())
}

/// On the way back to program code: a real-time thread whose time is used up waits for its next period, or becomes an
/// ordinary one. Interrupts are on.
pub(crate) fn settle_budget(thread: &'static Thread) {
    let irq = irq::disable();
    let own = cpus::this();
    let now = now_ns();
    if !edf::end_turn(own, thread, now) {
        edf::begin_turn(own, thread, now);
        return;
    }
    let release_ns = {
        let mut state = thread.realtime.state.lock();
        state.job.as_mut().and_then(|job| {
            let before = job.missed;
            job.overrun(now);
            own.counters.missed.add(job.missed - before);
            matches!(job.kind, Kind::Periodic { .. }).then_some(job.release_ns)
        })
    };
    edf::begin_turn(own, thread, now);
    drop(irq);
    match release_ns {
        // A signal ends the wait early: its handler, or the end of the process, comes at the cost of the next period.
        Some(release_ns) => drop(wait_for_release(thread, release_ns, park)),
        None => thread.end_realtime(),
    }
}

/// In the timer interrupt of its CPU: the deadline of a sporadic thread, unless its schedule has changed since.
pub(crate) fn on_expiry(thread: &'static Thread) {
    let is_over = |job: Job| job.kind == Kind::Sporadic && job.deadline_ns <= now_ns();
    if thread.realtime.state.lock().job.is_some_and(is_over) {
        thread.end_realtime();
    }
}
