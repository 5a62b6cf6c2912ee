// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `semget(2)`: finds the set of semaphores with a key, or makes one.
//!
//! Honoured: `IPC_CREAT`, `IPC_EXCL`, mode bits; a new set's semaphores are 0.
//!
//! Refused: nothing; other flags are ignored, as on Linux.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::semaphores;

signature!(Int, Int, Flags(&flags::IPCGET));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    semaphores::get(call.process, call.int(0), call.int(1), call.int(2)).map(|id| id as usize)
}
