// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making processes: `fork`, `vfork`, and `clone` without `CLONE_THREAD`.
//!
//! The child has the calling thread alone: its registers, mask and alternate stack, and copies of the process's memory, files,
//! actions and the rest. With `CLONE_VM` it runs in the caller's window until it ends or has another program; with
//! `CLONE_FILES`, `CLONE_FS` and `CLONE_SIGHAND` both have the same files, paths and actions ([`crate::shared`]).

use core::sync::atomic::Ordering;

use hadal_sched::Thread;
use hadal_sync::MutexGuard;
use linux_raw_sys::general::{CLONE_SYSVSEM, CLONE_VFORK, CLONE_VM};

use crate::call::Call;
use crate::process::Process;
use crate::restart::Restart;
use crate::signal;
use crate::task::Task;
use crate::{Errno, Result, family, machine};

/// What a child gets from the call that makes it.
pub(crate) struct Request {
    /// `CLONE_*`.
    pub(crate) flags: u32,
    /// What it sends its parent when it ends, or 0.
    pub(crate) exit_signal: u8,
}

/// Makes a child without a thread, in which the caller is to make one. Apart from it: a new record is large, and who makes a thread
/// needs no stack for one.
#[cold]
#[inline(never)]
pub(crate) fn copy(call: &Call<'_>, request: &Request) -> Result<&'static Process> {
    // Another thread may have begun to make something since the call looked.
    if !machine::get().may_share() {
        return Err(Errno::ENOSYS);
    }
    family::become_several(call.process);
    let copied = Process::copy(call.process, request.flags);
    let child = copied.map_err(|error| match error {
        Errno::EINTR => call.interrupted_as(Restart::Always),
        error => error,
    })?;
    if request.flags & CLONE_SYSVSEM != 0 {
        child.undo.share(&call.process.undo).inspect_err(|_| child.discard())?;
    }
    Ok(child)
}

/// What the child's only thread has of the calling one beyond what every new thread has.
pub(crate) fn complete(call: &Call<'_>, task: &Task, request: &Request) {
    // Two that run in the same window at a time do not use one stack.
    if request.flags & (CLONE_VM | CLONE_VFORK) != CLONE_VM {
        signal::alt_stack::copy(call.task, task);
    }
    if request.flags & CLONE_VM == 0 {
        task.rseq.store(call.task.rseq.load(Ordering::Relaxed), Ordering::Relaxed);
        let signature = call.task.rseq_signature.load(Ordering::Relaxed);
        task.rseq_signature.store(signature, Ordering::Relaxed);
    }
}

/// Starts the child, when `turn` ends; with `CLONE_VFORK` returns when it has left the caller's window.
pub(crate) fn start(
    call: &Call<'_>,
    child: &'static Process,
    thread: &'static Thread,
    request: &Request,
    turn: Option<MutexGuard<'static, ()>>,
) -> usize {
    let pid = child.pid();
    family::begin(child, call.process, request.exit_signal);
    drop(turn);
    // A signal that came before the thread has found nobody to wake.
    if !child.signals.pending().is_empty() {
        thread.set_interrupted(true);
    }
    thread.start();
    if request.flags & CLONE_VFORK != 0 {
        family::wait_until_left(call.task, call.process, child, pid);
    }
    pid as usize
}
