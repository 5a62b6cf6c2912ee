// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How processes end: parents are told, orphans get another one (`reapers`), and each that has ended is buried once.

use core::sync::atomic::Ordering;

use super::reapers::orphan_children;
use super::records::{Held, all, put_back};
use super::stopping::{continue_if_nobody_runs, release_orphaned};
use super::{ALIVE, BY_SIGNAL, COUNT, ENDED, LOOK_NS};
use crate::process::{ExitStatus, Process};
use crate::signal::action::{ActionFlags, Disposition};
use crate::signal::number::{SIGCHLD, SIGKILL};
use crate::signal::{self, Info, send};
use crate::task::Task;
use crate::tty;

/// The last thread of a process leaves. Returns whether nobody will wait for it.
pub(crate) fn end(process: &'static Process, status: ExitStatus) -> bool {
    tty::leader_ends(process);
    release_orphaned(process);
    orphan_children(process);
    // Somebody may wait for it before this is over, and then the record must not be another's yet.
    let _held = Held::of(process);
    let is_buried = end_held(process, status);
    continue_if_nobody_runs();
    is_buried
}

/// The parent of a process, held; `None` if that is process 1.
pub(super) fn parent_of(process: &Process) -> Option<Held> {
    loop {
        let parent = process.family.parent.load(Ordering::Acquire)?;
        let held = Held::of(parent);
        // One that ends gives its children away before its record is free.
        if process.family.parent.load(Ordering::Acquire).is_some_and(|now| core::ptr::eq(now, parent))
            && held.is_some()
        {
            return held;
        }
    }
}

fn end_held(process: &'static Process, status: ExitStatus) -> bool {
    let own = &process.family;
    let word = match status {
        ExitStatus::Exited(code) => u32::from(code),
        ExitStatus::Signaled(signo) => BY_SIGNAL | u32::from(signo),
    };
    own.status.store(word, Ordering::Relaxed);
    loop {
        let parent = parent_of(process);
        let parent = parent.as_ref().map(Held::process);
        let Some(parent) = parent.filter(|parent| wants_to_know(parent, process)) else {
            // Of process 1's children nobody asks.
            if unlink(process, parent) {
                forget(process);
                if let Some(parent) = parent {
                    notify(parent, process, status);
                }
                return true;
            }
            // It gets another parent just now.
            hadal_sched::yield_now();
            continue;
        };
        // Looked at in the other order by who gives it another parent.
        own.state.store(ENDED, Ordering::SeqCst);
        own.changed.wake_all();
        notify(parent, process, status);
        let now = own.parent.load(Ordering::SeqCst);
        if now.is_some_and(|now| core::ptr::eq(now, parent)) {
            return false;
        }
        // A parent that has ended meanwhile may not have seen it.
        if !tell_new_parent(process) {
            return false;
        }
        forget(process);
        return true;
    }
}

/// A process that has ended has got another parent, which hears of that. Whether nobody wants to: then the caller buries the
/// process.
pub(super) fn tell_new_parent(child: &'static Process) -> bool {
    loop {
        if child.family.state.load(Ordering::SeqCst) != ENDED {
            return false;
        }
        let Some(parent) = parent_of(child) else {
            // Whoever sees that nobody is its parent is the one to bury it.
            if claim_ended(child) {
                return true;
            }
            continue;
        };
        if wants_to_know(parent.process(), child) {
            notify(parent.process(), child, child.family.status());
            return false;
        }
        let is_taken = unlink_locked(child, &mut parent.family.children.lock());
        if is_taken {
            return claim_ended(child);
        }
        // It is about to be on that list, or was waited for.
        hadal_sched::yield_now();
    }
}

/// Whether a parent waits for its children, or may do so.
fn wants_to_know(parent: &Process, child: &Process) -> bool {
    if child.family.exit_signal.load(Ordering::Relaxed) != SIGCHLD {
        return true;
    }
    let action = signal::action_of(parent, SIGCHLD);
    action.disposition != Disposition::Ignore && !action.flags.contains(ActionFlags::NOCLDWAIT)
}

/// Tells a parent that a child has ended.
fn notify(parent: &'static Process, child: &Process, status: ExitStatus) {
    const TICK_NS: u64 = 10_000_000;
    let signo = child.family.exit_signal.load(Ordering::Relaxed);
    if signo != 0 {
        let (code, value) = code_of(status);
        let who = (child.pid(), child.credentials.user().real);
        // A standard signal is merged; others may find their queue full, as on Linux.
        let info = Info::child(signo, code, who, value, child.run_time_ns() / TICK_NS);
        let _ = send::to_process(parent, info);
    }
    parent.family.changed.wake_all();
}

/// `si_code` and `si_status` of an end.
pub(crate) fn code_of(status: ExitStatus) -> (i32, i32) {
    const EXITED: i32 = linux_raw_sys::general::CLD_EXITED as i32;
    const KILLED: i32 = linux_raw_sys::general::CLD_KILLED as i32;
    match status {
        ExitStatus::Exited(code) => (EXITED, code.into()),
        ExitStatus::Signaled(signo) => (KILLED, signo.into()),
    }
}

/// Takes a child off its parent's list; false if the parent is another one by now.
fn unlink(child: &'static Process, parent: Option<&'static Process>) -> bool {
    let Some(parent) = parent else { return child.family.parent.load(Ordering::Acquire).is_none() };
    let mut children = parent.family.children.lock();
    unlink_locked(child, &mut children)
}

pub(super) fn unlink_locked(child: &'static Process, children: &mut Option<&'static Process>) -> bool {
    let next = child.family.older.load(Ordering::Relaxed);
    if children.is_some_and(|newest| core::ptr::eq(newest, child)) {
        *children = next;
        return true;
    }
    let mut at = *children;
    while let Some(process) = at {
        let older = process.family.older.load(Ordering::Relaxed);
        if older.is_some_and(|older| core::ptr::eq(older, child)) {
            process.family.older.store(next, Ordering::Relaxed);
            return true;
        }
        at = older;
    }
    false
}

/// Takes the right to bury a child that has ended.
pub(super) fn claim_ended(child: &Process) -> bool {
    child.family.state.compare_exchange(ENDED, ALIVE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// A process is over: its id and its record are free.
fn forget(process: &'static Process) {
    COUNT.fetch_sub(1, Ordering::Relaxed);
    Task::of(hadal_sched::thread(process.pid() - 1)).leave_process();
    put_back(process);
    // Whoever has the record next is not disturbed by a look.
    process.family.changed.wake_all();
}

/// The machine's program is over, and the machine goes on.
pub fn forget_first(process: &'static Process) {
    bury(process);
}

/// The same for one whose first thread has kept its control block.
pub(super) fn bury(process: &'static Process) {
    let leader = hadal_sched::thread(process.pid() - 1);
    forget(process);
    hadal_sched::release(leader);
}

/// How long processes that the machine's program leaves behind may take to end.
const LEAVING_NS: u64 = 1_000_000_000;

/// The machine's program has ended: ends the other processes, so that what they have written to files is there.
pub(crate) fn end_others(first: &'static Process) {
    let others = || all().filter(|process| process.family.is_alive() && !core::ptr::eq(*process, first));
    // One that ends already is waited for, but was not left behind: the program may have seen its files close, and it still frees
    // its memory.
    let count = others().filter(|process| !process.is_on_its_way_out()).count();
    let until = hadal_time::now_ns() + LEAVING_NS;
    while others().next().is_some() && hadal_time::now_ns() < until {
        // Again and again: one of them may just have made another.
        others().for_each(|process| process.end(ExitStatus::Signaled(SIGKILL)));
        hadal_sched::sleep_until(hadal_time::now_ns() + LOOK_NS);
    }
    orphan_children(first);
    if count == 0 {
        return;
    }
    let (what, were) = if count == 1 { ("process", "was") } else { ("processes", "were") };
    crate::machine::get().report(&alloc::format!(
        "hadal: {count} {what} that the program had left behind {were} ended with it\n"
    ));
}
