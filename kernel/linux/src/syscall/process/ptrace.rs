// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ptrace(2)`: lets a process see and steer another one.
//!
//! Honoured: nothing.
//!
//! Refused: all requests (`ENOSYS`); the first one leaves a line on standard error that says what does a tracer's work.

use alloc::format;
use core::sync::atomic::{AtomicBool, Ordering};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, machine};

signature!(Int, Int, Address, Address);

/// Whether the line has been said.
static IS_SAID: AtomicBool = AtomicBool::new(false);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if !IS_SAID.swap(true, Ordering::Relaxed) {
        let program = call.process.program();
        let name = program.executable.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        machine::get().report(&format!(
            "hadal: {} (process {}) asked for ptrace, which is not there: hadal run --strace shows system calls, --gdb lets a \
             debugger in, and hadal stacks shows where threads are\n",
            name.escape_ascii(),
            call.process.pid()
        ));
    }
    Err(Errno::ENOSYS)
}
