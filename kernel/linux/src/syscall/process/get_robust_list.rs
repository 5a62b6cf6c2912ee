// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `get_robust_list(2)`: the list that a thread has registered.
//!
//! Honoured: 0 for the caller, and the other threads of the process.
//!
//! Refused: process 1 (EPERM), other processes (ESRCH).

use core::sync::atomic::Ordering;

use super::set_robust_list::HEAD_LEN;
use crate::call::Call;
use crate::strace::signature;
use crate::task::Task;
use crate::{Errno, Result, first, memory};

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let task = match call.uint(0) {
        0 => call.task,
        first::PID => return Err(Errno::EPERM),
        tid => Task::find(call.process, tid).ok_or(Errno::ESRCH)?,
    };
    memory::write(call.arg(1), &task.robust_list.load(Ordering::Relaxed))?;
    memory::write(call.arg(2), &HEAD_LEN)?;
    Ok(0)
}
