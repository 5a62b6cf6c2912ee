// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fork(2)`: makes a copy of the process.
//!
//! Honoured: the call. Memory is copied when one of the two writes to it; mappings that are shared stay so.
//!
//! Refused: more threads of the user than `RLIMIT_NPROC`, unless it is the superuser (EAGAIN); a program that has made threads,
//! keys, events, timers or handlers by `hadal/hrt.h` (ENOSYS, with a message).

use super::new_thread::{Arguments, start};
use crate::Result;
use crate::call::Call;
use crate::signal::number::SIGCHLD;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    start(call, &Arguments { exit_signal: SIGCHLD.into(), ..Arguments::default() })
}
