// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigtimedwait(2)`: takes a signal of a set out of those that are pending, and waits for one if there is none.
//!
//! Honoured: time-outs, also of 0; `SIGKILL` and `SIGSTOP` in the set are ignored.
//!
//! Refused: set sizes other than 8 (`EINVAL`).

use hadal_sync::WaitError;

use super::target;
use crate::call::Call;
use crate::clock::{self, Timespec};
use crate::signal::{self, mask};
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Address, Address, Time, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (set, info, timeout, size) = (call.arg(0), call.arg(1), call.arg(2), call.arg(3));
    if size != mask::SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let wanted = mask::read(set, size)?.ok_or(Errno::EFAULT)?.blockable();
    let deadline_ns = match timeout {
        0 => None,
        address => clock::deadline(clock::after(memory::read::<Timespec>(address)?.to_ns()?)),
    };
    match signal::wait_for(call.task, call.process, wanted, deadline_ns) {
        Ok(taken) => target::taken(&taken, info),
        Err(WaitError::TimedOut) => Err(Errno::EAGAIN),
        Err(WaitError::Interrupted) => Err(Errno::EINTR),
    }
}
