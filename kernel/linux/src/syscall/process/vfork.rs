// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `vfork(2)`: makes a process that uses the caller's memory, and waits until it ends or has another program.
//!
//! Honoured: the call.
//!
//! Refused: as `fork`.

use linux_raw_sys::general::{CLONE_VFORK, CLONE_VM};

use super::new_thread::{Arguments, start};
use crate::Result;
use crate::call::Call;
use crate::signal::number::SIGCHLD;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = u64::from(CLONE_VFORK | CLONE_VM);
    start(call, &Arguments { flags, exit_signal: SIGCHLD.into(), ..Arguments::default() })
}
