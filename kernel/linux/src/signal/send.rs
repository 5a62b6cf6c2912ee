// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sending signals. Everything here works from any context, timer interrupts included: only spin locks are taken.

use core::sync::atomic::{Ordering, fence};

use hadal_hal::memory::fallible;
use linux_raw_sys::general::RLIMIT_SIGPENDING;

use super::info::{Info, code};
use super::job_control;
use super::number::is_realtime;
use super::pending::{Pending, Pushed};
use super::set::SigSet;
use crate::process::Process;
use crate::task::Task;
use crate::{Errno, Result};

/// Real-time signals that a queue holds at most, whatever `RLIMIT_SIGPENDING` says: they take kernel memory.
const MOST_QUEUED: u64 = 16 << 10;

/// What became of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is pending, or was so already.
    Pending,
    /// The process ignores it, and it is not blocked: it is gone.
    Ignored,
}

/// Sends a signal to the thread of `process` with an id, which does not end meanwhile; `None` if there is none. `EAGAIN` when too
/// many are queued.
pub fn to_thread(process: &'static Process, tid: u32, info: Info) -> Option<Result<Sent>> {
    let acts = job_control::AT_ONCE.contains(info.signo) && process.has_thread(tid);
    let _order = acts.then(|| job_control::before(process, info.signo));
    let ignored = process.signals.look_at_ignored();
    let sent = process.with_thread(tid, |task| to_one(process, task, info, ignored, wake));
    if acts && matches!(sent, Some(Ok(_))) {
        job_control::after(process, info.signo);
    }
    sent
}

/// Sends the calling thread a signal, in a system call that it does not wait in any more: it takes the signal before it
/// returns to program code.
pub fn to_caller(process: &'static Process, task: &'static Task, info: Info) -> Result<Sent> {
    if job_control::AT_ONCE.contains(info.signo) {
        return to_caller_in_order(process, task, info);
    }
    to_one(process, task, info, process.signals.ignored(), super::interrupt_caller)
}

/// The same for a signal that does something when it is sent. The caller is not stopped.
#[cold]
#[inline(never)]
fn to_caller_in_order(process: &'static Process, task: &'static Task, info: Info) -> Result<Sent> {
    let _order = job_control::before(process, info.signo);
    let sent = to_one(process, task, info, process.signals.ignored(), super::interrupt_caller);
    job_control::after(process, info.signo);
    sent
}

#[inline(always)]
fn to_one(
    process: &Process,
    task: &'static Task,
    info: Info,
    ignored: SigSet,
    wake: impl FnOnce(&'static Task),
) -> Result<Sent> {
    // What is blocked is kept, since the program may change its mind before it unblocks it.
    if ignored.contains(info.signo) && !task.signals.mask().contains(info.signo) {
        return Ok(Sent::Ignored);
    }
    push(&task.signals.pending, process, info)?;
    if task.signals.wants(info.signo) {
        wake(task);
    }
    Ok(Sent::Pending)
}

/// Sends a signal to a process: a thread that does not block it will take it. `EAGAIN` when too many are queued.
pub fn to_process(process: &'static Process, info: Info) -> Result<Sent> {
    to_some_task(process, info, || None)
}

/// The same for a signal that is due because the program has run: a thread that runs takes it, if one can. Another might
/// not get a CPU, and profilers ask who it is.
pub(super) fn to_running(process: &'static Process, info: Info) -> Result<Sent> {
    // There are fewer CPUs than there may be threads.
    let running = || (0..hadal_hal::cpu::count()).filter_map(hadal_sched::running_on).map(Task::of);
    let is_ours = |task: &Task| task.try_process().is_some_and(|owner| core::ptr::eq(owner, process));
    to_some_task(process, info, || running().find(|task| is_ours(task) && task.signals.wants(info.signo)))
}

fn to_some_task(
    process: &'static Process,
    info: Info,
    preferred: impl FnOnce() -> Option<&'static Task>,
) -> Result<Sent> {
    let acts = job_control::AT_ONCE.contains(info.signo);
    let _order = acts.then(|| job_control::before(process, info.signo));
    let sent = push_for_some_task(process, info, preferred);
    if acts {
        job_control::after(process, info.signo);
    }
    sent
}

#[inline(always)]
fn push_for_some_task(
    process: &'static Process,
    info: Info,
    preferred: impl FnOnce() -> Option<&'static Task>,
) -> Result<Sent> {
    let signo = info.signo;
    if process.signals.look_at_ignored().contains(signo) && !is_blocked(process, signo) {
        return Ok(Sent::Ignored);
    }
    push(&process.signals.pending, process, info)?;
    match preferred() {
        Some(task) => wake(task),
        None => wake_one(process, signo),
    }
    Ok(Sent::Pending)
}

/// Whether a signal of the process is kept although it is ignored. Linux, too, asks the first thread only.
fn is_blocked(process: &Process, signo: u8) -> bool {
    Task::find(process, process.pid()).is_some_and(|task| task.signals.mask().contains(signo))
}

/// Sends the calling thread a signal for what it has done in a system call (`SIGPIPE`, `SIGXFSZ`).
pub fn to_self(task: &'static Task, process: &'static Process, signo: u8) {
    // A standard signal is merged when the queue is full, so this cannot fail.
    let _ = to_caller(
        process,
        task,
        Info::sender(signo, code::USER, process.pid(), process.credentials.user().real),
    );
}

#[inline(always)]
fn push(pending: &Pending, process: &Process, info: Info) -> Result<()> {
    let limit = if is_realtime(info.signo) {
        process.limits.lock()[RLIMIT_SIGPENDING as usize].soft.min(MOST_QUEUED)
    } else {
        MOST_QUEUED
    };
    if pending.push(info, limit) == Pushed::Refused {
        push_again(pending, info, limit)?;
    }
    process.signals.announce();
    Ok(())
}

/// The same with the memory that others give back.
#[cold]
fn push_again(pending: &Pending, info: Info, limit: u64) -> Result<()> {
    fallible::give_back_unused();
    match pending.push(info, limit) {
        Pushed::New | Pushed::Merged => Ok(()),
        Pushed::Refused => Err(Errno::EAGAIN),
    }
}

/// Makes a thread look at its signals.
fn wake(task: &'static Task) {
    let thread = task.thread();
    thread.set_interrupted(true);
    // The flag must be visible before the poke looks for the thread's CPU.
    fence(Ordering::SeqCst);
    thread.poke();
}

/// Wakes a thread that does not block a signal of the process: the first one if it can, as programs expect. If there is
/// none, the signal waits until some thread unblocks it.
fn wake_one(process: &Process, signo: u8) {
    let first = Task::find(process, process.pid()).filter(|task| task.signals.wants(signo));
    let chosen = first.or_else(|| process.find_task(|task| task.signals.wants(signo)));
    // All others wait for work: one of them has to look whether the signal ends the program.
    let unblocked = |task: &Task| !task.signals.mask().contains(signo);
    let chosen = chosen.or_else(|| process.find_task(unblocked));
    if let Some(task) = chosen {
        wake(task);
    }
}

/// Finds new takers for pending signals of the process among `lost`, which the calling thread takes no longer.
pub(super) fn retarget(process: &Process, lost: SigSet) {
    let lost = process.signals.pending().intersection(lost);
    if !lost.is_empty() {
        lost.iter().for_each(|signo| wake_one(process, signo));
    }
}
