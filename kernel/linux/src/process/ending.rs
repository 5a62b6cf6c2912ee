// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a process ends, or loses all threads but one: every thread leaves at its next chance, wherever it is.

use core::sync::atomic::Ordering;

use hadal_hal::cpu;
use hadal_hal::interrupts::apic;

use super::{ExitStatus, Process};
use crate::signal::number::SIGSEGV;
use crate::task::Task;
use crate::violation::Violation;
use crate::{family, machine};

const ENDING: u32 = 1 << 31;
const BY_SIGNAL: u32 = 1 << 8;
/// One thread replaces the program, and all others leave as if it ended.
const REPLACING: u32 = 1 << 9;
/// Threads are to stop ([`super::stopping`]); without [`ENDING`], of which this says nothing.
const STOPPING: u32 = 1 << 10;

/// How long threads may take to leave before they are interrupted in a way that cannot be turned off.
const NMI_DELAY_NS: u64 = 50_000_000;

/// How long to wait before looking again whether they have.
const LEAVING_NS: u64 = 50_000;

/// The timer of [`Process::end`]: program code in ring 0 may have turned interrupts off.
fn send_nmis(_: usize) {
    let own = cpu::current_id();
    for other in (0..cpu::count()).filter(|&other| other != own) {
        let Some(thread) = hadal_sched::running_on(other) else { continue };
        if Task::of(thread).try_process().is_some_and(|process| process.ending().is_some()) {
            apic::send_nmi(other);
        }
    }
}

impl Process {
    /// The status that the process is ending with, or `None` while it runs.
    pub fn ending(&self) -> Option<ExitStatus> {
        let ending = self.ending.load(Ordering::Acquire);
        (ending & ENDING != 0).then(|| {
            let number = ending as u8;
            if ending & BY_SIGNAL != 0 { ExitStatus::Signaled(number) } else { ExitStatus::Exited(number) }
        })
    }

    /// Whether it ends, and does not just replace its program.
    pub(crate) fn ends_for_good(&self) -> bool {
        self.ending.load(Ordering::Acquire) & (ENDING | REPLACING) == ENDING
    }

    /// Whether it ends already: all its threads have to leave, or have left.
    pub(crate) fn is_on_its_way_out(&self) -> bool {
        self.ends_for_good() || self.thread_count() == 0
    }

    /// Whether threads have to leave or to stop.
    #[inline(always)]
    pub(crate) fn calls_off(&self) -> bool {
        self.ending.load(Ordering::SeqCst) != 0
    }

    /// Whether threads have to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.ending.load(Ordering::SeqCst) & STOPPING != 0
    }

    /// Makes all threads stop, or none.
    pub(super) fn set_stopping(&self, is: bool) {
        if is {
            self.ending.fetch_or(STOPPING, Ordering::SeqCst);
        } else {
            self.ending.fetch_and(!STOPPING, Ordering::SeqCst);
        }
    }

    /// In the middle of a call that takes long: lets other threads run that are due, and says whether the process is to go
    /// on.
    pub fn goes_on(&self) -> bool {
        hadal_sched::attend();
        self.ending().is_none()
    }

    /// Starts to end the process: the first status wins, and every thread leaves at its next chance, wherever it is. The
    /// calling thread goes on; it exits when it returns to program code.
    pub fn end(&self, status: ExitStatus) {
        let code = match status {
            ExitStatus::Exited(code) => ENDING | u32::from(code),
            ExitStatus::Signaled(number) => ENDING | BY_SIGNAL | u32::from(number),
        };
        let first = |now: u32| (now & ENDING == 0 || now & REPLACING != 0).then_some(code | now & STOPPING);
        if self.ending.fetch_update(Ordering::AcqRel, Ordering::Relaxed, first).is_ok() {
            self.drive_out();
        }
    }

    /// Makes every thread look whether it has to leave or to stop, wherever it is.
    pub(super) fn rouse(&self) {
        for task in self.tasks() {
            task.thread().set_interrupted(true);
            task.thread().poke();
        }
    }

    /// Makes every thread leave.
    fn drive_out(&self) {
        self.rouse();
        self.wake_stopped();
        // Threads of a program are few against the machine's life; without memory for the timer the host's limit is left.
        let _ = hadal_sched::call_at(hadal_time::now_ns() + NMI_DELAY_NS, send_nmis, 0);
    }

    /// Ends all threads but the calling one; false if the process ends, and the caller has to leave, too.
    pub(crate) fn end_other_threads(&self) -> bool {
        let begin = |now: u32| (now & ENDING == 0).then_some(now | ENDING | REPLACING);
        if self.ending.fetch_update(Ordering::AcqRel, Ordering::Relaxed, begin).is_err() {
            return false;
        }
        if self.thread_count() > 1 {
            self.drive_out();
        }
        while self.thread_count() > 1 {
            hadal_sched::sleep_until(hadal_time::now_ns() + LEAVING_NS);
        }
        let go_on = |now: u32| (now & REPLACING != 0).then_some(now & STOPPING);
        self.ending.fetch_update(Ordering::AcqRel, Ordering::Relaxed, go_on).is_ok()
    }

    /// Ends the process as if by SIGSEGV for something that it did in interrupt context, or with interrupts off; the first
    /// counts. From any context: the report is made when the last thread leaves.
    pub fn end_for(&self, violation: Violation) {
        {
            let mut first = self.violation.lock();
            if first.is_some() || self.ending().is_some() {
                return;
            }
            *first = Some(violation);
        }
        self.end(ExitStatus::Signaled(SIGSEGV));
    }

    /// The last thread has left. Returns whether nobody will wait for the process.
    pub(super) fn finish(&'static self) -> bool {
        self.forget_stop();
        let violation = self.violation.lock().take();
        if let Some(violation) = violation {
            machine::get().violation(self, &violation);
        }
        // This brings the last of a file to the host. Nobody is left to hear of a failure.
        let _ = self.space().sync_all();
        self.undo.end(self.pid());
        self.leave_files();
        let status = self.ending().unwrap_or(ExitStatus::Exited(0));
        let refused = self.refused.text(&self.program().executable, status);
        if !refused.is_empty() {
            machine::get().report(&refused);
        }
        if self.family.is_first() {
            // The memory goes with the machine.
            family::end_others(self);
            machine::get().program_ended(status);
            return false;
        }
        self.signals.end();
        self.family.note_used(&self.space().stats());
        Task::current().end_as(self.pid(), || self.leave_window());
        family::end(self, status)
    }
}
