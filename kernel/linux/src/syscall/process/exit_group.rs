// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `exit_group(2)`: ends all threads of the process, wherever they are.
//!
//! Honoured: the low 8 bits of the status.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::process::ExitStatus;
use crate::strace::signature;

signature!(Int => Nothing);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.process.end(ExitStatus::Exited(call.arg(0) as u8));
    call.task.exit()
}
