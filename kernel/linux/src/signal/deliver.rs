// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Delivery: from pending signals to handlers and default actions, right before a return to program code.

use core::sync::atomic::Ordering;

use hadal_hal::memory::layout;
use hadal_hal::trace::{self, Kind};
use hadal_hal::trap::{SYSCALL_VECTOR, TrapFrame};

use super::action::{Action, ActionFlags, Disposition};
use super::info::{Info, code};
use super::number::SIGSEGV;
use super::set::SigSet;
use super::{FaultSignal, action, default, frame as signal_frame, interrupted, job_control, mask, take};
use crate::process::Process;
use crate::restart::{Interruption, Restart};
use crate::syscall;
use crate::task::Task;
use crate::traps::NO_CALL;

/// Bytes of the SYSCALL instruction.
const SYSCALL_BYTES: u64 = 2;

/// What becomes of the call that a frame is about to return from.
fn rule_of(interruption: &Interruption, frame: &TrapFrame, call_number: u64) -> Restart {
    if frame.vector != SYSCALL_VECTOR || frame.rax != syscall::INTERRUPTED {
        return Restart::Never;
    }
    interruption.rule(call_number, syscall::restart_rule(call_number))
}

/// Makes the program execute its SYSCALL instruction again.
fn restart(frame: &mut TrapFrame, call_number: u64) {
    frame.rip = frame.rip.wrapping_sub(SYSCALL_BYTES);
    frame.rax = call_number;
}

/// Delivers every pending signal that the calling thread does not block; its frame is about to return to program code.
/// Interrupts are on, the frame is on the thread's kernel stack, and [`rseq::on_return`](crate::rseq::on_return) has seen it.
pub fn deliver(task: &'static Task, process: &'static Process, frame: &mut TrapFrame) {
    // Whatever comes of it, the call is over: what is delivered later interrupts no call.
    let call_number = task.call_number.swap(NO_CALL, Ordering::Relaxed);
    let mut rule = rule_of(&task.interruption, frame, call_number);
    loop {
        if process.calls_off() {
            if process.ending().is_some() {
                return;
            }
            job_control::stay(task, process, frame);
            continue;
        }
        // Before the signal is taken.
        let turn = process.stop_turn();
        let Some(info) = take(task, process, SigSet::ALL.minus(task.signals.mask())) else { break };
        let action = process.signals.actions.get().take(info.signo);
        match action.disposition {
            Disposition::Ignore => {}
            Disposition::Default if default::STOP.contains(info.signo) => {
                job_control::stop(task, process, frame, info.signo, turn);
            }
            Disposition::Default => default::act(task, process, frame, info.signo, None),
            Disposition::Handler(_) => {
                if core::mem::replace(&mut rule, Restart::Never).applies(Some(action.flags)) {
                    restart(frame, call_number);
                }
                enter_handler(task, process, frame, &info, &action, None);
            }
        }
    }
    if process.ending().is_some() {
        return;
    }
    if rule.applies(None) {
        restart(frame, task.interruption.number_to_make(call_number));
    }
    mask::end(task, process);
    // What arrived in the meantime raises attention again.
    interrupted(task, process);
}

/// Lets the program continue in a handler. If its frame cannot be built, the program gets a SIGSEGV, or ends. A critical
/// section that the thread was in has been aborted.
pub(super) fn enter_handler(
    task: &'static Task,
    process: &'static Process,
    frame: &mut TrapFrame,
    info: &Info,
    action: &Action,
    fault: Option<FaultSignal>,
) {
    let Disposition::Handler(handler) = action.disposition else { return };
    trace::point(Kind::Signal, info.signo.into(), handler);
    // A wait that is about to go on ends instead.
    task.interruption.reset();
    let current = task.signals.mask();
    let restored = mask::take_saved(task).unwrap_or(current);
    if !layout::is_program(handler)
        || signal_frame::push(task, frame, info, (action, handler), restored, fault.is_some()).is_err()
    {
        // The saved mask is lost on purpose: there is no handler to return from.
        return fail(task, process, frame, info, fault);
    }
    let mut blocked = current.union(action.mask);
    if !action.flags.contains(ActionFlags::NODEFER) {
        blocked = blocked.with(info.signo);
    }
    mask::set(task, process, blocked);
}

/// A handler could not be started: a SIGSEGV, which may have a handler on an alternate stack. A SIGSEGV that fails itself
/// ends the program.
pub(super) fn fail(
    task: &'static Task,
    process: &'static Process,
    frame: &mut TrapFrame,
    info: &Info,
    fault: Option<FaultSignal>,
) {
    if info.signo == SIGSEGV {
        process.signals.actions.get().set(SIGSEGV, action::Action::DEFAULT);
        default::act(task, process, frame, SIGSEGV, fault);
    } else {
        super::force(task, process, frame, Info::fault(SIGSEGV, code::KERNEL, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Errno;

    const READ: u64 = 0;

    fn returning(vector: u64, rax: i64) -> TrapFrame {
        TrapFrame { vector, rax: rax as u64, rip: 0x40_1002, ..TrapFrame::default() }
    }

    #[test]
    fn only_interrupted_calls_are_made_again() {
        let eintr = -i64::from(Errno::EINTR.raw());
        let rule = |frame: TrapFrame, number| rule_of(&Interruption::new(), &frame, number);
        assert_eq!(rule(returning(SYSCALL_VECTOR, eintr), READ), Restart::IfAsked);
        assert_eq!(rule(returning(SYSCALL_VECTOR, eintr), 39), Restart::Never);
        assert_eq!(rule(returning(SYSCALL_VECTOR, 5), READ), Restart::Never);
        assert_eq!(rule(returning(0x20, eintr), READ), Restart::Never);
        assert_eq!(rule(returning(SYSCALL_VECTOR, eintr), 34), Restart::UnlessHandled);
    }

    #[test]
    fn a_restarted_call_is_the_same_call() {
        let mut frame = returning(SYSCALL_VECTOR, -4);
        restart(&mut frame, READ);
        assert_eq!((frame.rip, frame.rax), (0x40_1000, READ));
    }
}
