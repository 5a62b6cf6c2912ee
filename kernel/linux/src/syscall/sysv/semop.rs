// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `semop(2)`: changes semaphores of a set, all at once, or waits until that can be.
//!
//! Honoured: `IPC_NOWAIT`, `SEM_UNDO`; up to 500 operations. A signal ends the wait with `EINTR`, whatever its handler's flags.
//!
//! Refused: nothing.

use super::operations;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    operations::carry_out(call, None)
}
