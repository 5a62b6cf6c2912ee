// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigaction(2)`: says what happens when a signal is delivered, and asks what would.
//!
//! Honoured: `SA_SIGINFO`, `SA_ONSTACK`, `SA_RESTART`, `SA_NODEFER`, `SA_RESETHAND`, `SA_NOCLDSTOP`, `SA_NOCLDWAIT`,
//! `SA_RESTORER` (a handler without it cannot be entered and is a `SIGSEGV`, as on Linux).
//! Unknown flags are dropped, also from what a later call returns.
//!
//! Refused: actions for `SIGKILL` and `SIGSTOP`, set sizes other than 8 (`EINVAL`).

use super::target::signal_number;
use crate::call::Call;
use crate::memory;
use crate::signal::action::{Action, RawAction};
use crate::signal::mask::SET_BYTES;
use crate::signal::{self, SigSet};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Signal, Address, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (new, old) = (call.arg(1), call.arg(2));
    if call.arg(3) != SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let action: Option<RawAction> = if new == 0 { None } else { Some(memory::read(new)?) };
    let signo = signal_number(call.int(0))?;
    if action.is_some() && SigSet::UNBLOCKABLE.contains(signo) {
        return Err(Errno::EINVAL);
    }
    let previous = match action {
        Some(raw) => signal::set_action(call.process, signo, Action::from_raw(raw)),
        None => signal::action_of(call.process, signo),
    };
    memory::write_unless_null(old, &previous.to_raw())?;
    Ok(0)
}
