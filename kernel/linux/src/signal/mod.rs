// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals: who gets them, when, and what the program finds on its stack.
//!
//! - state: [`TaskSignals`] of a thread, [`ProcessSignals`] of a process ([`action`], `pending`, [`alt_stack`], [`set`]);
//! - sending: [`send`], from any context; [`timer`] sends when time has passed;
//! - stopping and continuing, which sending does in part: `job_control`;
//! - delivery: [`deliver`] before a return to program code, [`raise_fault`] for what an instruction did; `frame` builds the
//!   handler's stack frame, [`sigreturn`](mod@sigreturn) takes it apart, `default` ends the program;
//! - [`mask`]: changing what is blocked.
//!
//! # Who may be interrupted
//! [`hadal_sched::Thread::interrupted`] is true while a signal is pending that the thread neither blocks nor ignores, and
//! from the moment on that the process ends or stops. A sender makes the signal pending, then sets the flag, then pokes the thread.
//! The thread itself clears the flag first and then looks at what is pending ([`interrupted`]), so whichever comes last
//! leaves the flag right.

pub mod action;
pub mod alt_stack;
mod default;
mod deliver;
mod fault;
mod frame;
pub mod info;
mod job_control;
pub mod mask;
pub mod number;
mod pending;
pub mod send;
pub mod set;
pub mod sigreturn;
pub mod timer;

use core::sync::atomic::{AtomicBool, Ordering, fence};

use hadal_hal::cpu::percpu::{self, attention};
use hadal_sync::WaitQueue;

pub use deliver::deliver;
pub use fault::{FaultSignal, force, raise_fault};
pub use frame::min_stack_bytes;
pub use info::Info;
pub use number::name;
pub use set::SigSet;

use crate::process::Process;
use crate::shared::Own;
use crate::task::Task;
use action::Actions;
use alt_stack::ThreadAltStack;
use pending::Pending;
use set::AtomicSigSet;
use timer::ProcessTimers;

/// Signal state of one thread.
pub struct TaskSignals {
    /// Blocked signals; only the thread itself changes them, and who gives it work while it is resting.
    mask: AtomicSigSet,
    /// What a thread that is used again blocks in between ([`crate::reuse`]).
    kept_mask: AtomicSigSet,
    /// The mask to go back to after a call that changed it for its own duration, if `has_saved_mask`: the thread's own.
    saved_mask: AtomicSigSet,
    has_saved_mask: AtomicBool,
    /// Signals that the thread waits for in `rt_sigtimedwait`: they wake it although they are blocked.
    awaited: AtomicSigSet,
    /// The thread waits for work in the kernel and takes no signals until it has some; see [`rest`].
    resting: AtomicBool,
    /// The thread is stopped with its process.
    stopped: AtomicBool,
    pending: Pending,
    alt_stack: ThreadAltStack,
}

impl Default for TaskSignals {
    fn default() -> Self {
        Self::new()
    }
}

impl TaskSignals {
    /// Nothing blocked, nothing pending, no alternate stack.
    pub const fn new() -> Self {
        Self {
            mask: AtomicSigSet::new(SigSet::EMPTY),
            kept_mask: AtomicSigSet::new(SigSet::EMPTY),
            saved_mask: AtomicSigSet::new(SigSet::EMPTY),
            has_saved_mask: AtomicBool::new(false),
            awaited: AtomicSigSet::new(SigSet::EMPTY),
            resting: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            pending: Pending::new(),
            alt_stack: ThreadAltStack::new(),
        }
    }

    /// The state of a new thread: the mask of the one that made it, nothing else. An alternate stack has gone before.
    pub fn reset(&self, parent: Option<&TaskSignals>) {
        self.awaited.set(SigSet::EMPTY);
        self.resting.store(false, Ordering::Relaxed);
        self.has_saved_mask.store(false, Ordering::Relaxed);
        self.discard(SigSet::ALL);
        self.mask.set(parent.map_or(SigSet::EMPTY, TaskSignals::mask));
    }

    /// The blocked signals.
    pub fn mask(&self) -> SigSet {
        self.mask.get()
    }

    /// What the thread blocks now is its [`TaskSignals::kept_mask`].
    pub(crate) fn keep_mask(&self) {
        self.kept_mask.set(self.mask());
    }

    /// What it blocks when it is between two pieces of work.
    pub(crate) fn kept_mask(&self) -> SigSet {
        self.kept_mask.get()
    }

    /// The thread, which is resting, blocks what its creator blocks when it has work again.
    pub(crate) fn inherit_mask(&self, creator: &TaskSignals) {
        self.mask.set(creator.mask());
    }

    /// Signals that were sent to this thread and wait.
    pub fn pending(&self) -> SigSet {
        self.pending.set()
    }

    /// Whether the signal would wake the thread.
    fn wants(&self, signo: u8) -> bool {
        !self.mask.get().minus(self.awaited.get()).contains(signo) && !self.is_resting()
    }

    /// Whether the thread waits for work: see [`rest`].
    pub fn is_resting(&self) -> bool {
        self.resting.load(Ordering::Relaxed)
    }

    /// Whether the thread is stopped with its process.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub(crate) fn set_stopped(&self, is: bool) {
        self.stopped.store(is, Ordering::SeqCst);
    }

    fn discard(&self, signals: SigSet) {
        while let Some(info) = self.pending.take(signals) {
            timer::dropped(&info);
        }
    }
}

/// Signal state of one process.
pub struct ProcessSignals {
    actions: Own<Actions>,
    pending: Pending,
    timers: ProcessTimers,
    /// Where `signalfd` waits for signals, once somebody has one.
    arrival: WaitQueue,
    has_signalfd: AtomicBool,
    /// A report of the program's end has been made.
    reported: AtomicBool,
}

impl Default for ProcessSignals {
    fn default() -> Self {
        Self::new()
    }
}

impl ProcessSignals {
    /// No actions yet, nothing pending, no timers.
    pub fn new() -> Self {
        Self {
            actions: Own::none(),
            pending: Pending::new(),
            timers: ProcessTimers::new(),
            arrival: WaitQueue::new(),
            has_signalfd: AtomicBool::new(false),
            reported: AtomicBool::new(false),
        }
    }

    /// Signals that were sent to the process and wait.
    pub fn pending(&self) -> SigSet {
        self.pending.set()
    }

    /// Signals that are ignored, by default or by request, for threads of the process.
    pub fn ignored(&self) -> SigSet {
        self.actions.get().ignored()
    }

    /// The same for anybody.
    fn look_at_ignored(&self) -> SigSet {
        self.actions.look(Actions::ignored)
    }

    /// Signals that have a handler.
    pub fn caught(&self) -> SigSet {
        self.actions.look(Actions::caught)
    }

    /// The signals that the program has said to ignore.
    pub fn ignored_on_request(&self) -> SigSet {
        self.actions.look(Actions::ignored_on_request)
    }

    /// The queue that is woken when a signal becomes pending, from now on.
    pub(crate) fn arrival(&self) -> &WaitQueue {
        self.has_signalfd.store(true, Ordering::SeqCst);
        &self.arrival
    }

    /// A signal has become pending for the process or one of its threads.
    fn announce(&self) {
        if self.has_signalfd.load(Ordering::SeqCst) {
            self.arrival.wake_all();
        }
    }

    /// Becomes those of the machine's program: default actions.
    pub(crate) fn begin(&self) -> crate::Result<()> {
        self.actions.begin().map(drop)
    }

    /// Becomes those of a new child: the parent's actions, shared or as a copy, nothing pending, no timers.
    pub(crate) fn take_over(&self, parent: &Self, shares_actions: bool) -> crate::Result<()> {
        if shares_actions {
            self.actions.share(&parent.actions);
        } else {
            self.actions.begin()?.take_over(parent.actions.get());
        }
        self.discard(SigSet::ALL);
        self.has_signalfd.store(false, Ordering::SeqCst);
        self.reported.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Whether other processes have the same actions.
    pub(crate) fn shares_actions(&self) -> bool {
        self.actions.is_shared()
    }

    /// Somebody has waited for the process, or it came to nothing: it has no actions any more.
    pub(crate) fn leave_actions(&self) {
        self.actions.leave();
    }

    /// The process has ended: it has no timers any more.
    pub(crate) fn end(&self) {
        self.timers.end();
        self.discard(SigSet::ALL);
        self.pending.give_back();
    }

    /// Timers that `timer_create` made and the interval timers.
    pub(crate) fn timers(&self) -> &ProcessTimers {
        &self.timers
    }

    fn discard(&self, signals: SigSet) {
        while let Some(info) = self.pending.take(signals) {
            timer::dropped(&info);
        }
    }
}

/// The action of a valid signal.
pub fn action_of(process: &Process, signo: u8) -> action::Action {
    process.signals.actions.look(|actions| actions.get(signo))
}

/// Changes the action of a valid signal and returns the previous one. What is pending and ignored from now on is dropped.
pub fn set_action(process: &Process, signo: u8, action: action::Action) -> action::Action {
    let previous = process.signals.actions.get().set(signo, action);
    if process.signals.ignored().contains(signo) {
        let one = SigSet::of(&[signo]);
        process.signals.discard(one);
        process.tasks().for_each(|task| task.signals.discard(one));
    }
    previous
}

/// The process of the calling thread, its only one, gets another program: handlers and the timers of `timer_create` are gone,
/// with what these have sent; what is ignored stays ignored. Other processes keep the actions that they have shared with it.
pub(crate) fn forget_program(task: &Task, process: &Process) -> crate::Result<()> {
    process.signals.actions.unshare(|own, shared| {
        own.take_over(shared);
        Ok(())
    })?;
    process.signals.actions.get().forget_handlers();
    process.signals.timers.delete_all();
    process.signals.pending.forget_timers();
    task.signals.pending.forget_timers();
    Ok(())
}

/// Signals that may be delivered to the calling thread now.
fn deliverable(task: &Task, process: &Process) -> SigSet {
    let blocked = task.signals.mask().minus(task.signals.awaited.get());
    let pending = task.signals.pending().union(process.signals.pending());
    pending.minus(blocked).minus(process.signals.ignored().minus(task.signals.awaited.get()))
}

/// Whether the calling thread has a signal to take care of, or its process is ending or stopping; a blocking call gives up then. Looks
/// anew, so it is more precise than [`hadal_sched::Thread::interrupted`], which it updates.
#[inline]
pub fn interrupted(task: &Task, process: &Process) -> bool {
    has_news(task, process) && is_interrupted_by_news(task, process)
}

#[inline(never)]
fn is_interrupted_by_news(task: &Task, process: &Process) -> bool {
    let interrupted = process.calls_off() || !deliverable(task, process).is_empty();
    if interrupted {
        interrupt_caller(task);
    } else if process.signals.shares_actions() {
        drop_ignored(task, process);
    }
    interrupted
}

/// Drops what the calling thread would have taken, and what another process that shares the actions has said to ignore.
#[cold]
fn drop_ignored(task: &Task, process: &Process) {
    let kept = task.signals.mask().union(task.signals.awaited.get());
    while take(task, process, process.signals.ignored().minus(kept)).is_some() {}
}

/// Whether anything is pending that the calling thread might have to take care of. If not, it is not interrupted; if so,
/// [`interrupted`] has to look.
#[inline(always)]
fn has_news(task: &Task, process: &Process) -> bool {
    hadal_sched::current().set_interrupted(false);
    // Whoever makes a signal pending after this look sets the flag after this store.
    fence(Ordering::SeqCst);
    process.calls_off() || !task.signals.pending().union(process.signals.pending()).is_empty()
}

/// A call of the calling thread has given up for a signal: delivery decides what becomes of it. It has to look even if this
/// CPU has not heard of the signal yet, whose sender is still on the way, and if another thread has taken the signal.
#[cold]
pub fn decide_on_restart(task: &Task) {
    interrupt_caller(task);
}

/// Makes the calling thread look at its signals before it returns to program code. Where it goes on should it lose its CPU
/// in between, it is the flag that tells the other CPU.
fn interrupt_caller(task: &Task) {
    task.thread().set_interrupted(true);
    percpu::raise_attention(attention::SIGNAL);
}

/// Takes the next pending signal out of `wanted` for the calling thread: its own first, then the process's.
#[inline(always)]
pub(crate) fn take(task: &Task, process: &Process, wanted: SigSet) -> Option<Info> {
    let pending = task.signals.pending().union(process.signals.pending());
    if pending.intersection(wanted).is_empty() { None } else { take_pending(task, process, wanted) }
}

fn take_pending(task: &Task, process: &Process, wanted: SigSet) -> Option<Info> {
    let mut info = task.signals.pending.take(wanted);
    if info.is_none() {
        info = process.signals.pending.take(wanted);
    }
    if let Some(info) = &mut info
        && info.timer.is_some()
    {
        timer::taken(info);
    }
    info
}

/// Blocks the calling thread until a signal of `wanted` is pending, and takes it.
pub(crate) fn wait_for(
    task: &'static Task,
    process: &'static Process,
    wanted: SigSet,
    deadline_ns: Option<u64>,
) -> Result<Info, hadal_sync::WaitError> {
    use hadal_sync::WaitError;
    task.signals.awaited.set(wanted);
    let thread = task.thread();
    thread.note_wait(Some((&"signal in set", wanted.bits())));
    let outcome = loop {
        if let Some(info) = take(task, process, wanted) {
            break Ok(info);
        }
        if interrupted(task, process) {
            if process.ending().is_none() && !deliverable(task, process).intersection(wanted).is_empty() {
                continue;
            }
            break Err(WaitError::Interrupted);
        }
        if hadal_sched::park(deadline_ns) == hadal_sched::Wake::TimedOut {
            break take(task, process, wanted).ok_or(WaitError::TimedOut);
        }
    };
    thread.note_wait(None);
    task.signals.awaited.set(SigSet::EMPTY);
    interrupted(task, process);
    outcome
}

/// The calling thread waits for work in the kernel from now on: signals of the process go to others, its own wait.
#[inline]
pub fn rest(task: &Task, process: &Process) {
    task.signals.resting.store(true, Ordering::Relaxed);
    if !process.signals.pending().is_empty() {
        send::retarget(process, SigSet::ALL);
    }
}

/// Whether even a wait that signals do not end has to end: the program ends, or a signal will end it. A system call
/// of which this ends a wait then does not return to program code, whatever its result.
pub fn must_leave(task: &Task, process: &Process) -> bool {
    let must = task.thread().interrupted()
        && (process.ending().is_some()
            || !deliverable(task, process).minus(process.signals.caught()).minus(default::STOP).is_empty());
    if must {
        // Who has set the flag may not have interrupted this CPU yet.
        interrupt_caller(task);
    }
    must
}

/// The calling thread has work again, and takes signals.
#[inline]
pub fn resume(task: &Task, process: &Process) {
    task.signals.resting.store(false, Ordering::Relaxed);
    // What came meanwhile has woken nobody, or not this thread.
    if !task.signals.pending().union(process.signals.pending()).is_empty() {
        interrupted(task, process);
    }
}

/// The calling thread ends: it takes no more signals, and what it would have taken of the process's goes to another one.
pub(crate) fn leave(task: &Task, process: &Process) {
    task.signals.awaited.set(SigSet::EMPTY);
    task.signals.mask.set(SigSet::ALL);
    send::retarget(process, SigSet::ALL);
    task.signals.discard(SigSet::ALL);
    task.signals.pending.give_back();
}

#[cfg(test)]
mod tests {
    use super::number::{SIGTERM, SIGUSR1};
    use super::*;

    #[test]
    fn a_new_thread_inherits_the_mask_only() {
        let parent = TaskSignals::new();
        parent.mask.set(SigSet::of(&[SIGUSR1]));
        parent.pending.push(Info::kernel(SIGTERM), 1);
        let child = TaskSignals::new();
        child.pending.push(Info::kernel(SIGTERM), 1);
        child.reset(Some(&parent));
        assert_eq!((child.mask(), child.pending()), (SigSet::of(&[SIGUSR1]), SigSet::EMPTY));
        child.reset(None);
        assert_eq!(child.mask(), SigSet::EMPTY);
    }

    #[test]
    fn awaited_signals_are_wanted_though_blocked() {
        let signals = TaskSignals::new();
        signals.mask.set(SigSet::of(&[SIGUSR1, SIGTERM]));
        signals.awaited.set(SigSet::of(&[SIGUSR1]));
        assert!(signals.wants(SIGUSR1) && !signals.wants(SIGTERM));
    }
}
