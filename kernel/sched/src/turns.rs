// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns of threads of equal priority: how long each runs, and when one that is woken need not wait for its turn.
//!
//! A turn is [`SLICE_NS`] of CPU time, or what the thread was given instead ([`Thread::set_turn_ns`]), in as many pieces as the
//! thread runs in: blocking, yielding or being interrupted by more urgent threads does not begin a new one. It ends when an
//! equal thread gets the CPU instead.
//!
//! **Woken threads.** A thread that releases a lock, wakes who waits for it and takes the lock again would keep it for ever
//! on a CPU that only changes threads at the end of a slice: that moment nearly always finds it holding the lock, so the
//! other one runs in vain, sleeps again, and its next wake-up comes too early to be of use. So after the end of a slice a
//! woken thread that has run clearly less than the running one gets the CPU at once, when the lock has just been released.
//! That is bounded to a few times for each slice: what it costs does not grow with the number of wake-ups.
//! `docs/decisions/0032-woken-threads-and-equal-ones.md` has the reasons.

use hadal_hal::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};

use hadal_hal::cpu::percpu::attention;

use crate::cpus::Here;
use crate::thread::{Params, Policy, Thread};

/// How long a thread runs while an equal one is ready on its CPU, unless it was given another time.
pub const SLICE_NS: u64 = 4_000_000;

/// How often woken threads may take a CPU from equal ones for each slice that ends there. More than one, since a thread that
/// is woken before the lock is free (by the signal of a condition variable whose mutex is still held) sleeps again at once,
/// and its next wake-up has to count.
const TAKE_OVERS: u8 = 4;
/// How much less than the running thread one must have run to take its CPU.
const CLEARLY_LESS_NS: i64 = SLICE_NS as i64 / 4;
/// The difference in running time that counts between two threads at most, either way: neither a long sleep nor a long life
/// decides about more than this.
const MOST_DIFFERENCE_NS: i64 = 4 * SLICE_NS as i64;

/// A thread's part: how long a turn is, when it began, and how its running time compares with that of others.
pub(crate) struct Turn {
    length_ns: AtomicU64,
    /// What the thread had run when its turn began.
    began_ns: AtomicU64,
    /// What is taken off its running time when it is compared.
    handicap_ns: AtomicI64,
}

impl Turn {
    pub(crate) fn new() -> Self {
        Self {
            length_ns: AtomicU64::new(SLICE_NS),
            began_ns: AtomicU64::new(0),
            handicap_ns: AtomicI64::new(0),
        }
    }

    /// For a new thread.
    pub(crate) fn reset(&self) {
        self.length_ns.store(SLICE_NS, Ordering::Relaxed);
        self.began_ns.store(0, Ordering::Relaxed);
        self.handicap_ns.store(0, Ordering::Relaxed);
    }
}

impl Thread {
    /// Says how long a turn of the thread is: the CPU time that it gets beside equal threads is in proportion to that.
    pub fn set_turn_ns(&self, length_ns: u64) {
        self.turn.length_ns.store(length_ns, Ordering::Relaxed);
    }

    pub(crate) fn turn_ns(&self) -> u64 {
        self.turn.length_ns.load(Ordering::Relaxed)
    }

    /// What is left of this running thread's turn.
    pub(crate) fn turn_left_ns(&self) -> u64 {
        let had = self.run_time_ns().saturating_sub(self.turn.began_ns.load(Ordering::Relaxed));
        self.turn_ns().saturating_sub(had)
    }

    /// The turn of this running thread is over.
    pub(crate) fn end_turn(&self) {
        self.turn.began_ns.store(self.run_time_ns(), Ordering::Relaxed);
    }

    fn compared_ns(&self) -> i64 {
        self.run_time_ns().cast_signed() - self.turn.handicap_ns.load(Ordering::Relaxed)
    }

    /// How much longer the running thread has run than this one, which its CPU has claimed. What exceeds the most that counts
    /// is forgotten.
    fn is_behind_by_ns(&self, running: &Thread) -> i64 {
        let difference = running.compared_ns() - self.compared_ns();
        let counted = difference.clamp(-MOST_DIFFERENCE_NS, MOST_DIFFERENCE_NS);
        let forgotten = counted - difference;
        if forgotten != 0 {
            let handicap = self.turn.handicap_ns.load(Ordering::Relaxed);
            self.turn.handicap_ns.store(handicap + forgotten, Ordering::Relaxed);
        }
        counted
    }
}

/// A CPU's part: whether a woken thread may take it from an equal one.
pub(crate) struct Turns {
    /// How often that may happen until the next slice ends.
    due: AtomicU8,
    /// Another CPU has interrupted this one since the last end of a slice, for a thread that might do so.
    announced: AtomicBool,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { due: AtomicU8::new(0), announced: AtomicBool::new(false) }
    }

    /// A slice has ended, whoever it was that ran.
    pub(crate) fn end_slice(&self) {
        self.due.store(TAKE_OVERS, Ordering::Relaxed);
        self.announced.store(false, Ordering::Relaxed);
    }

    /// Whether a thread with these parameters may run before the running one of the CPU: [`precede`] decides.
    #[inline(always)]
    pub(crate) fn may_precede(&self, params: Params, running: &Thread) -> bool {
        let due = self.due.load(Ordering::Relaxed) != 0;
        u32::from(params.priority()) + u32::from(due) > u32::from(running.place.level())
    }

    /// Whether a CPU that ticks should be interrupted for a thread with these parameters that goes there: for a more urgent one, and
    /// once for each slice for an equal one. For other CPUs.
    pub(crate) fn want_interrupt(&self, params: Params, running: &Thread) -> bool {
        params.priority() > running.place.level()
            || self.may_precede(params, running) && !self.announced.swap(true, Ordering::Relaxed)
    }
}

/// A thread that [`Turns::may_precede`] has been put among the ready ones. Interrupts are off.
#[cold]
pub(crate) fn precede(here: Here<'_>, thread: &'static Thread) {
    if thread.place.level() > here.thread().place.level() {
        here.raise_attention(attention::RESCHEDULE);
    } else {
        take_over(here, thread);
    }
}

/// Sees to it that a thread of the running one's level which has become ready runs next, if that is due. Interrupts are off.
pub(crate) fn take_over(here: Here<'_>, thread: &'static Thread) {
    let (own, running) = (here.cpu(), here.thread());
    let due = own.turns.due.load(Ordering::Relaxed);
    if due == 0
        || thread.is(running)
        || running.policy() != Policy::RoundRobin
        || thread.is_behind_by_ns(running) < CLEARLY_LESS_NS
    {
        return;
    }
    own.turns.due.store(due - 1, Ordering::Relaxed);
    own.levels.move_behind(thread, running);
    here.raise_attention(attention::RESCHEDULE);
}
