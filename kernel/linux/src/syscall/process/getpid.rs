// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpid(2)`: the process id.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.pid() as usize)
}
