// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `exit(2)`: ends the calling thread; the last one ends the process with its status.
//!
//! Honoured: the status.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::process::ExitStatus;
use crate::strace::signature;

signature!(Int => Nothing);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.process.thread_count() == 1 {
        call.process.end(ExitStatus::Exited(call.arg(0) as u8));
    }
    call.task.exit()
}
