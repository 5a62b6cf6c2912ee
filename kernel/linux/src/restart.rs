// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a system call goes on that a signal has interrupted (signal(7)).
//!
//! A blocking call gives up with `EINTR` when there is a signal to take care of; what the program sees is decided when it is
//! known whether a handler runs (`signal::deliver`). The [`Restart`] rule of a call is in the table of calls, or, where it
//! depends on the arguments, comes from the call itself ([`Call::interrupted_as`]).
//!
//! A call with a relative time-out cannot be made again as it was: it would wait for the whole time again. It says when its
//! time is over ([`Call::interrupted_until`]); if no handler runs, the program makes `restart_syscall(2)` instead, and the
//! call finds that time in [`Call::resumed_until`].

use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::sync::SpinLock;
use syscalls::Sysno;

use crate::Errno;
use crate::call::Call;
use crate::signal::action::ActionFlags;

/// The number of `restart_syscall`.
pub(crate) const RESTART_SYSCALL: u64 = Sysno::restart_syscall as u64;

/// What happens to a call that a signal interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The program sees `EINTR`, even if no handler has run.
    Never,
    /// It is made again if the handler was installed with `SA_RESTART`, or if none runs.
    IfAsked,
    /// It is made again only if no handler runs.
    UnlessHandled,
    /// It is always made again.
    Always,
}

impl Restart {
    /// Whether the call is made again, given the flags of the handler that runs, if one does.
    pub(crate) fn applies(self, handler: Option<ActionFlags>) -> bool {
        match (self, handler) {
            (Self::Never, _) => false,
            (Self::Always, _) | (_, None) => true,
            (Self::IfAsked, Some(flags)) => flags.contains(ActionFlags::RESTART),
            (Self::UnlessHandled, Some(_)) => false,
        }
    }
}

/// A wait with a relative time-out that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rest {
    /// Number of the call that waits.
    number: u64,
    /// When its time is over, on the clock that it waits for.
    until_ns: u64,
}

/// What an interrupted call has left for the time after the signal. Only the thread that made the call uses it.
pub(crate) struct Interruption {
    left: SpinLock<Left>,
    /// Whether there may be something.
    is_left: AtomicBool,
}

#[derive(Clone, Copy)]
struct Left {
    /// The rule of the call with this number, where it is not that of the table.
    rule: Option<(u64, Restart)>,
    rest: Option<Rest>,
}

impl Interruption {
    pub(crate) const fn new() -> Self {
        Self { left: SpinLock::new(Left { rule: None, rest: None }), is_left: AtomicBool::new(false) }
    }

    fn leave(&self, left: Left) {
        self.is_left.store(true, Ordering::Relaxed);
        *self.left.lock() = left;
    }

    /// Forgets everything: a new thread, or a handler that runs before an interrupted wait goes on.
    pub(crate) fn reset(&self) {
        if self.is_left.load(Ordering::Relaxed) {
            self.is_left.store(false, Ordering::Relaxed);
            *self.left.lock() = Left { rule: None, rest: None };
        }
    }

    /// The rule for a call that has returned `EINTR`, given that of the table.
    pub(crate) fn rule(&self, number: u64, of_table: Restart) -> Restart {
        match self.left.lock().rule.take() {
            Some((of, rule)) if of == number => rule,
            _ => of_table,
        }
    }

    /// The number with which the program makes the call `number` again.
    pub(crate) fn number_to_make(&self, number: u64) -> u64 {
        let rest = self.left.lock().rest;
        if rest.is_some_and(|rest| rest.number == number) { RESTART_SYSCALL } else { number }
    }

    /// The call that `restart_syscall` continues, if there is one.
    pub(crate) fn number_to_resume(&self) -> Option<u64> {
        self.left.lock().rest.map(|rest| rest.number)
    }
}

impl Call<'_> {
    /// `EINTR`, and a rule for this time in place of the table's.
    pub(crate) fn interrupted_as(&self, rule: Restart) -> Errno {
        self.task.interruption.leave(Left { rule: Some((self.number(), rule)), rest: None });
        Errno::EINTR
    }

    /// `EINTR` for a wait that goes on until a time if no handler runs, and else is over.
    pub(crate) fn interrupted_until(&self, until_ns: u64) -> Errno {
        let number = self.number();
        let rule = Some((number, Restart::UnlessHandled));
        self.task.interruption.leave(Left { rule, rest: Some(Rest { number, until_ns }) });
        Errno::EINTR
    }

    /// Whether the program asks for the rest of an interrupted call, not for this one.
    pub(crate) fn is_resumed(&self) -> bool {
        self.frame.rax == RESTART_SYSCALL
    }

    /// The end of the interrupted wait that this call continues; `None` for a call that the program makes.
    pub(crate) fn resumed_until(&self) -> Option<u64> {
        if !self.is_resumed() {
            return None;
        }
        self.task.interruption.left.lock().rest.take().map(|rest| rest.until_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_decide() {
        let with = Some(ActionFlags::RESTART);
        let without = Some(ActionFlags::empty());
        let outcomes = |rule: Restart| [with, without, None].map(|handler| rule.applies(handler));
        assert_eq!(outcomes(Restart::Never), [false, false, false]);
        assert_eq!(outcomes(Restart::IfAsked), [true, false, true]);
        assert_eq!(outcomes(Restart::UnlessHandled), [false, false, true]);
        assert_eq!(outcomes(Restart::Always), [true, true, true]);
    }

    #[test]
    fn a_rule_is_for_one_call() {
        const FUTEX: u64 = 202;
        let interruption = Interruption::new();
        assert_eq!(interruption.rule(FUTEX, Restart::IfAsked), Restart::IfAsked);
        interruption.leave(Left { rule: Some((FUTEX, Restart::Always)), rest: None });
        assert_eq!(interruption.rule(FUTEX, Restart::IfAsked), Restart::Always);
        assert_eq!(interruption.rule(FUTEX, Restart::IfAsked), Restart::IfAsked, "used up");
        interruption.leave(Left { rule: Some((FUTEX, Restart::Always)), rest: None });
        assert_eq!(interruption.rule(0, Restart::Never), Restart::Never, "left by another call");
    }

    #[test]
    fn a_rest_is_waited_for_by_another_number() {
        let interruption = Interruption::new();
        assert_eq!(interruption.number_to_make(35), 35);
        interruption.leave(Left { rule: None, rest: Some(Rest { number: 35, until_ns: 7 }) });
        assert_eq!(interruption.number_to_make(35), RESTART_SYSCALL);
        assert_eq!(interruption.number_to_make(0), 0);
        assert_eq!(interruption.number_to_resume(), Some(35));
        interruption.reset();
        assert_eq!(interruption.number_to_resume(), None);
    }
}
