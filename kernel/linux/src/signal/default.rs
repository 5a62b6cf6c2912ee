// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a signal does to a program that has not said anything about it (signal(7)).

use core::sync::atomic::Ordering;

use hadal_hal::trace::{self, Kind};
use hadal_hal::trap::TrapFrame;

use super::FaultSignal;
use super::number::*;
use super::set::SigSet;
use crate::machine;
use crate::process::{ExitStatus, Process};
use crate::task::Task;

/// Signals without effect unless they are caught; that SIGCONT continues a process is done when it is sent.
pub(super) const IGNORED: SigSet = SigSet::of(&[SIGCHLD, SIGCONT, SIGURG, SIGWINCH]);
/// Signals that stop a process.
pub(super) const STOP: SigSet = SigSet::of(&[SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU]);
/// Signals that mean a mistake in the program: its end comes with a report.
const REPORTED: SigSet = SigSet::of(&[SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS]);

/// Takes the default action of a signal that does not stop: the end of the program, with a report if the program is at fault.
pub(super) fn act(
    task: &'static Task,
    process: &'static Process,
    frame: &TrapFrame,
    signo: u8,
    fault: Option<FaultSignal>,
) {
    trace::point(Kind::Signal, signo.into(), 0);
    if IGNORED.contains(signo) {
        return;
    }
    // Of several threads that fault at a time, one reports.
    if REPORTED.contains(signo) && !process.signals.reported.swap(true, Ordering::Relaxed) {
        machine::get().ends_by_signal(task, process, frame, signo, fault);
    }
    process.end(ExitStatus::Signaled(signo));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_signals_terminate() {
        assert!((FIRST_REALTIME..=COUNT).all(|signo| !IGNORED.contains(signo)));
        assert!(IGNORED.contains(SIGCHLD) && !IGNORED.contains(SIGTERM) && !IGNORED.contains(SIGKILL));
        assert!(IGNORED.contains(SIGCONT) && !IGNORED.contains(SIGSTOP));
    }
}
