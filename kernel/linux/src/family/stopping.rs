// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stopped processes among the others: parents are told, and nobody stays stopped whom nobody could continue.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use hadal_sync::Mutex;

use super::are_several;
use super::ending::parent_of;
use super::reapers::reaper_above;
use super::records::all;
use crate::process::{Process, StopNews};
use crate::signal::action::{ActionFlags, Disposition};
use crate::signal::number::{SIGCHLD, SIGCONT, SIGHUP};
use crate::signal::{self, Info, send};

/// Processes that are stopped or about to be.
static STOPPING: AtomicU32 = AtomicU32::new(0);

/// Held while a process that ends looks whom it leaves behind.
static RELEASING: Mutex<()> = Mutex::new(());

/// One more, or one less.
pub(crate) fn count_stopping(is_more: bool) {
    if is_more {
        STOPPING.fetch_add(1, Ordering::SeqCst);
    } else {
        STOPPING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `si_code` and `si_status` of news.
pub(crate) fn code_of_news(news: StopNews) -> (i32, i32) {
    const STOPPED: i32 = linux_raw_sys::general::CLD_STOPPED as i32;
    const CONTINUED: i32 = linux_raw_sys::general::CLD_CONTINUED as i32;
    match news {
        StopNews::Stopped(signo) => (STOPPED, signo.into()),
        StopNews::Continued => (CONTINUED, SIGCONT.into()),
    }
}

/// Tells a process's parent that it has stopped or goes on.
pub(crate) fn tell_of_stop(process: &Process, news: StopNews) {
    let Some(parent) = parent_of(process) else { return };
    let action = signal::action_of(&parent, SIGCHLD);
    if action.disposition != Disposition::Ignore && !action.flags.contains(ActionFlags::NOCLDSTOP) {
        let (code, value) = code_of_news(news);
        let who = (process.pid(), process.credentials.user().real);
        // Merged if there is one.
        let _ = send::to_process(parent.process(), Info::child(SIGCHLD, code, who, value, 0));
    }
    parent.family.changed.wake_all();
}

/// Whether no process of a group has a parent in another group of its session: then no shell knows that it is there. `without`: a
/// process that is ending.
pub(crate) fn is_orphaned(group: u32, without: Option<&Process>) -> bool {
    let is_without = |process: &Process| {
        process.family.leaves.load(Ordering::SeqCst)
            || without.is_some_and(|other| core::ptr::eq(other, process))
    };
    !all().any(|process| {
        let own = &process.family;
        let counts_on =
            |parent: &Process| parent.family.group() != group && parent.family.session() == own.session();
        own.group() == group
            && own.is_alive()
            && !is_without(process)
            && match own.parent.load(Ordering::Acquire) {
                None => false,
                Some(parent) if is_without(parent) => {
                    reaper_above(parent).is_some_and(|reaper| counts_on(&reaper))
                }
                Some(parent) => counts_on(parent),
            }
    })
}

/// A process ends: groups that it leaves orphaned, and in which a process is stopped, are hung up and go on.
pub(super) fn release_orphaned(ending: &Process) {
    let leave = || ending.family.leaves.store(true, Ordering::SeqCst);
    if STOPPING.load(Ordering::SeqCst) == 0 {
        return leave();
    }
    // Of two that end at once the second one sees that the first is none to count on.
    let _turn = RELEASING.lock();
    look_for_orphaned(ending);
    leave();
}

fn look_for_orphaned(ending: &Process) {
    let is_child = |process: &Process| {
        process.family.parent.load(Ordering::Acquire).is_some_and(|parent| core::ptr::eq(parent, ending))
    };
    for stopped in all().filter(|process| process.is_stopped()) {
        let group = stopped.family.group();
        let concerns = group == ending.family.group()
            || all().any(|process| process.family.group() == group && is_child(process));
        if concerns && !is_orphaned(group, None) && is_orphaned(group, Some(ending)) {
            super::with_many(|processes| {
                for process in processes.filter(|process| process.family.group() == group) {
                    // Standard signals are merged.
                    let _ = send::to_process(process.process(), Info::kernel(SIGHUP));
                    let _ = send::to_process(process.process(), Info::kernel(SIGCONT));
                }
            });
        }
    }
}

/// Whether somebody could continue a process that stops. Where it is alone nobody could, and it does not.
pub(crate) fn could_be_continued(process: &Process) -> bool {
    let could = are_several() && all().any(|other| other.family.is_alive() && !core::ptr::eq(other, process));
    if !could {
        say_that_nobody_could(process);
    }
    could
}

/// The machine's program goes on if it is stopped and no process runs that could continue it.
pub(crate) fn continue_if_nobody_runs() {
    if STOPPING.load(Ordering::SeqCst) == 0 {
        return;
    }
    let mut first = None;
    for process in all().filter(|process| process.family.is_alive()) {
        if !process.is_stopped() {
            return;
        }
        if process.family.is_first() {
            first = Some(process);
        }
    }
    if let Some(first) = first {
        say_that_nobody_could(first);
        first.go_on();
    }
}

#[cold]
fn say_that_nobody_could(process: &Process) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let program = process.program();
    log::warn!(
        "{}: a signal that stops the program has no effect: nobody runs who could continue it",
        program.executable.escape_ascii()
    );
}
