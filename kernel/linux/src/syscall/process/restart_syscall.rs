// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `restart_syscall(2)`: goes on with a wait that a signal without a handler has interrupted.
//!
//! Honoured: what is left of `nanosleep`, `clock_nanosleep`, `poll` and `futex`.
//!
//! Refused: calls of the program itself (`EINTR`): it is the kernel that lets a program make it.

use core::sync::atomic::Ordering;

use crate::call::Call;
use crate::strace::signature;
use crate::syscall::{entry, word_result};
use crate::{Errno, Result};

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let number = call.task.interruption.number_to_resume().ok_or(Errno::EINTR)?;
    let entry = entry(number).ok_or(Errno::EINTR)?;
    call.task.call_number.store(number, Ordering::Relaxed);
    word_result((entry.handler)(call))
}
