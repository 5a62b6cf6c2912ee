// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Signals that stop processes, and SIGCONT, which continues them (signal(7), setpgid(2)).
//!
//! What SIGCONT and SIGKILL do to a stopped process they do when they are sent, whatever the process blocks, ignores or
//! catches: it goes on. A stop signal takes effect when a thread takes it, and the two kinds drop each other from the queues.

use hadal_hal::sync::SpinLockGuard;
use hadal_hal::trace::{self, Kind};
use hadal_hal::trap::TrapFrame;

use super::default::STOP;
use super::number::{SIGCONT, SIGKILL, SIGSTOP};
use super::set::SigSet;
use crate::process::Process;
use crate::task::Task;
use crate::{family, rseq};

/// Signals that do something when they are sent.
pub(super) const AT_ONCE: SigSet = STOP.union(SigSet::of(&[SIGCONT, SIGKILL]));

/// One of [`AT_ONCE`] is about to be sent to the process or to one of its threads. No other one is until [`after`].
#[cold]
pub(super) fn before(process: &Process, signo: u8) -> SpinLockGuard<'_, ()> {
    let order = process.stop_order();
    match signo {
        SIGKILL => {}
        SIGCONT => forget(process, STOP),
        _ => forget(process, SigSet::of(&[SIGCONT])),
    }
    order
}

/// It was: now a process that goes on finds it.
#[cold]
pub(super) fn after(process: &Process, signo: u8) {
    match signo {
        SIGKILL => process.go_on_to_end(),
        SIGCONT => process.go_on(),
        _ => {}
    }
}

/// Drops pending signals. One that a timer has sent stays: this may run for another timer, whose lock is held.
fn forget(process: &Process, signals: SigSet) {
    process.signals.pending.forget(signals);
    process.tasks().for_each(|task| task.signals.pending.forget(signals));
}

/// A thread of the process has taken a stop signal whose action is the default. `turn`: [`Process::stop_turn`] before.
pub(super) fn stop(
    task: &'static Task,
    process: &'static Process,
    frame: &mut TrapFrame,
    signo: u8,
    turn: u32,
) {
    trace::point(Kind::Signal, signo.into(), 0);
    // Nobody would continue a job that no shell knows of.
    if signo != SIGSTOP && family::is_orphaned(process.family.group(), None) {
        return;
    }
    if family::could_be_continued(process) {
        process.stop(signo, turn);
        stay(task, process, frame);
    }
}

/// The calling thread stops with its process, and returns when it goes on or ends.
pub(super) fn stay(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) {
    process.stay_stopped(task);
    if rseq::has_moved(task) {
        rseq::on_move(task, process, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::super::number::{SIGTERM, SIGTSTP};
    use super::*;

    #[test]
    fn both_kinds_act_when_they_are_sent() {
        assert!([SIGCONT, SIGKILL, SIGSTOP, SIGTSTP].iter().all(|&signo| AT_ONCE.contains(signo)));
        assert!(!AT_ONCE.contains(SIGTERM));
    }
}
