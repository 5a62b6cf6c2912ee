// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Earliest deadline first: the ready real-time threads of a CPU, and the budget of the one that runs.
//!
//! Each CPU has two queues by deadline, for admitted and for aperiodic threads, and its ledger of promises. As the rings of
//! ordinary threads they belong to the CPU; the locks are for admission, which comes from anywhere. A running real-time
//! thread is in no queue. Memory for a thread's place is reserved when it is admitted, so that interrupts need none.

use hadal_hal::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use hadal_hal::sync::{Rank as LockRank, SpinLock};
use hadal_time::now_ns;
use hadal_time::timer_queue::{TimerId, TimerQueue};

use crate::admission::Ledger;
use crate::cpus::{Cpu, Here};
use crate::job::{Job, Kind};
use crate::switch::insert;
use crate::thread::Thread;
use crate::transition::Event;
use crate::wake::look_again;
use crate::{audit, timers};

/// What a thread is to its CPU.
pub(crate) mod class {
    /// In the rings.
    pub(crate) const ORDINARY: u8 = 0;
    /// Real-time without a promise.
    pub(crate) const APERIODIC: u8 = 1;
    /// Real-time with a promise.
    pub(crate) const ADMITTED: u8 = 2;
}

/// How long a thread whose first period has not begun waits at most before somebody looks whether it is interrupted.
const HOLD_NS: u64 = 100_000_000;
/// A budget with less than this left is used up: the timer is not exact.
const SLACK_NS: u64 = 1_000;

/// The real-time part of a thread.
pub(crate) struct Realtime {
    class: AtomicU8,
    pub(crate) state: SpinLock<State>,
    /// It was bound to its CPU by its admission.
    pub(crate) bound_for_it: AtomicBool,
}

/// What belongs together.
pub(crate) struct State {
    pub(crate) job: Option<Job>,
    /// Its place in a queue.
    queued: Option<TimerId>,
    /// It is ready, but its period has not begun: a timer will queue it.
    held: bool,
    /// When it got the CPU.
    began_ns: u64,
    /// Missed by earlier promises and this one.
    missed_before: u64,
}

impl State {
    /// Deadlines missed, of all promises.
    pub(crate) fn missed(&self) -> u64 {
        self.missed_before + self.job.map_or(0, |job| job.missed)
    }
}

impl Realtime {
    pub(crate) fn new() -> Self {
        let state = State { job: None, queued: None, held: false, began_ns: 0, missed_before: 0 };
        Self {
            class: AtomicU8::new(class::ORDINARY),
            state: SpinLock::ranked(LockRank::Realtime, state),
            bound_for_it: AtomicBool::new(false),
        }
    }

    /// One of [`class`].
    #[inline(always)]
    pub(crate) fn class(&self) -> u8 {
        self.class.load(Ordering::Relaxed)
    }

    /// Gives the thread a job, or none; its CPU makes its place fit. `note` is told under the lock whether it has one now, so
    /// that what is noted is that of the last change. Returns whether it had one.
    pub(crate) fn set_job(&self, job: Option<Job>, note: impl FnOnce(bool)) -> bool {
        let mut state = self.state.lock();
        state.missed_before = state.missed();
        let had_one = core::mem::replace(&mut state.job, job).is_some();
        let class = match job.map(|job| job.kind) {
            None => class::ORDINARY,
            Some(Kind::Aperiodic) => class::APERIODIC,
            Some(_) => class::ADMITTED,
        };
        self.class.store(class, Ordering::Relaxed);
        note(job.is_some());
        had_one
    }

    /// Forgets everything, for a new thread.
    pub(crate) fn reset(&self) {
        self.set_job(None, |_| ());
        self.state.lock().missed_before = 0;
        self.bound_for_it.store(false, Ordering::Relaxed);
    }

    /// Whether it is in a queue, or held.
    pub(crate) fn is_queued(&self) -> bool {
        let state = self.state.lock();
        state.held || state.queued.is_some()
    }

    /// Who comes first: greater classes, then earlier deadlines.
    fn rank(&self) -> Rank {
        let deadline_ns = self.state.lock().job.map_or(u64::MAX, |job| job.deadline_ns);
        Rank { class: self.class(), deadline_ns }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Rank {
    class: u8,
    deadline_ns: u64,
}

impl Rank {
    fn precedes(self, other: Self) -> bool {
        (self.class, other.deadline_ns) > (other.class, self.deadline_ns)
    }
}

/// The real-time part of a CPU.
pub(crate) struct Edf {
    admitted: SpinLock<TimerQueue<&'static Thread>>,
    aperiodic: SpinLock<TimerQueue<&'static Thread>>,
    /// Threads in the two.
    ready: AtomicU32,
    pub(crate) ledger: SpinLock<Ledger>,
    /// Real-time threads of the CPU, running or not.
    members: AtomicU32,
}

impl Edf {
    pub(crate) fn new() -> Self {
        Self {
            admitted: SpinLock::ranked(LockRank::DeadlineQueue, TimerQueue::new()),
            aperiodic: SpinLock::ranked(LockRank::DeadlineQueue, TimerQueue::new()),
            ready: AtomicU32::new(0),
            ledger: SpinLock::ranked(LockRank::Ledger, Ledger::new()),
            members: AtomicU32::new(0),
        }
    }

    /// Whether a real-time thread waits for the CPU.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        self.bits() != 0
    }

    /// 0 if no real-time thread waits for the CPU; to be looked at together with other words.
    #[inline(always)]
    pub(crate) fn bits(&self) -> usize {
        self.ready.load(Ordering::Relaxed) as usize
    }

    /// Makes room for one more thread; false without memory.
    pub(crate) fn enter(&self) -> bool {
        let members = self.members.fetch_add(1, Ordering::Relaxed) as usize + 1;
        let roomy = self.admitted.lock().reserve(members) && self.aperiodic.lock().reserve(members);
        if !roomy {
            self.members.fetch_sub(1, Ordering::Relaxed);
        }
        roomy
    }

    /// Undoes [`Edf::enter`].
    pub(crate) fn depart(&self) {
        self.members.fetch_sub(1, Ordering::Relaxed);
    }

    fn queue(&self, class: u8) -> &SpinLock<TimerQueue<&'static Thread>> {
        if class == class::ADMITTED { &self.admitted } else { &self.aperiodic }
    }

    fn count(&self, difference: i32) {
        self.ready
            .store(self.ready.load(Ordering::Relaxed).wrapping_add_signed(difference), Ordering::Relaxed);
    }

    fn best(&self) -> Option<Rank> {
        let of = |class| {
            let deadline_ns = self.queue(class).lock().next_deadline_ns()?;
            Some(Rank { class, deadline_ns })
        };
        of(class::ADMITTED).or_else(|| of(class::APERIODIC))
    }

    /// Whether a waiting thread comes before the running one.
    pub(crate) fn precedes(&self, running: &Thread) -> bool {
        self.is_busy() && self.best().is_some_and(|best| best.precedes(running.realtime.rank()))
    }

    /// Takes the first thread. Interrupts are off.
    pub(crate) fn take(&self) -> Option<&'static Thread> {
        if !self.is_busy() {
            return None;
        }
        let pop = |class| self.queue(class).lock().pop_expired(u64::MAX).map(|(_, thread)| thread);
        let thread = pop(class::ADMITTED).or_else(|| pop(class::APERIODIC))?;
        thread.realtime.state.lock().queued = None;
        audit::saw(thread.id(), Event::Removed);
        self.count(-1);
        Some(thread)
    }

    /// Takes a thread out, wherever it is. Interrupts are off.
    pub(crate) fn remove(&self, thread: &'static Thread) {
        let mut state = thread.realtime.state.lock();
        if core::mem::take(&mut state.held) {
            audit::saw(thread.id(), Event::Removed);
        }
        if let Some(id) = state.queued.take() {
            // The class may have changed since it was queued.
            let found = |class| {
                let mut queue = self.queue(class).lock();
                queue.cancel_if(id, |other| other.is(thread)).is_some()
            };
            if found(class::ADMITTED) || found(class::APERIODIC) {
                audit::saw(thread.id(), Event::Removed);
                self.count(-1);
            }
        }
    }
}

/// Queues a ready thread by its deadline, or holds it until its period begins; false if there is no memory, or it is no
/// real-time thread any more. Interrupts are off.
pub(crate) fn enqueue(own: &'static Cpu, thread: &'static Thread) -> bool {
    let now = now_ns();
    let mut state = thread.realtime.state.lock();
    let Some(job) = state.job.as_mut() else { return false };
    let missed = job.missed;
    job.resume(now);
    own.counters.missed.add(job.missed - missed);
    let job = *job;
    if now < job.release_ns
        && !thread.interrupted()
        && timers::release_at(own, job.release_ns.min(now + HOLD_NS), thread)
    {
        state.held = true;
        audit::saw(thread.id(), Event::Inserted);
        return true;
    }
    let queue = own.edf.queue(thread.realtime.class());
    let Ok(id) = queue.lock().insert(job.deadline_ns, thread) else { return false };
    state.queued = Some(id);
    audit::saw(thread.id(), Event::Inserted);
    own.edf.count(1);
    true
}

/// In the timer interrupt: the period of a thread begins, or it should be looked at.
pub(crate) fn on_release(here: Here<'_>, thread: &'static Thread) {
    let own = here.cpu();
    let held = thread.cpu() == own.id && core::mem::take(&mut thread.realtime.state.lock().held);
    if held {
        audit::saw(thread.id(), Event::Removed);
        insert(own, thread, here.thread());
        look_again(here);
    }
}

/// Accounts for a switch that has to do with a real-time thread. Interrupts are off.
#[cold]
pub(crate) fn on_switch(own: &Cpu, previous: &Thread, next: &Thread) {
    let now = now_ns();
    end_turn(own, previous, now);
    begin_turn(own, next, now);
}

/// The thread has the CPU from now on, until its budget ends.
pub(crate) fn begin_turn(own: &Cpu, thread: &Thread, now: u64) {
    if thread.realtime.class() == class::ORDINARY {
        return;
    }
    let mut state = thread.realtime.state.lock();
    state.began_ns = now;
    if let Some(job) = state.job.filter(|job| job.kind != Kind::Aperiodic) {
        timers::end_budget_at(own, now + job.left_ns);
    }
}

/// The thread has had the CPU up to now; returns whether its budget is used up.
pub(crate) fn end_turn(own: &Cpu, thread: &Thread, now: u64) -> bool {
    if thread.realtime.class() == class::ORDINARY {
        return false;
    }
    timers::no_budget(own);
    let mut state = thread.realtime.state.lock();
    let ran = now.saturating_sub(state.began_ns);
    state.began_ns = now;
    state.job.as_mut().is_some_and(|job| job.charge(ran) || job.left_ns < SLACK_NS)
}
