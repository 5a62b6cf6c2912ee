// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `msgget(2)`: finds the System V message queue with a key, or makes one.
//!
//! Honoured: `IPC_CREAT`, `IPC_EXCL`, mode bits.
//!
//! Refused: nothing; other flags are ignored, as on Linux.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;
use crate::sysv::messages;

signature!(Int, Flags(&flags::IPCGET));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    messages::get(call.process, call.int(0), call.int(1)).map(|id| id as usize)
}
