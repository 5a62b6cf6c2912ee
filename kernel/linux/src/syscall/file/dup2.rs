// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `dup2(2)`: makes a descriptor refer to the open file of another one.
//!
//! Honoured: all of it; two equal numbers change nothing.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::process::Process;
use crate::strace::signature;
use crate::{Result, record_locks};

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, old, new) = (call.process, call.int(0), call.int(1));
    if old == new {
        process.files().get(old)?;
        return Ok(new as usize);
    }
    replace(process, old, new, false)
}

/// Puts the open file of `old` at `new`, for two different numbers, and closes what was there.
pub(super) fn replace(process: &Process, old: i32, new: i32, close_on_exec: bool) -> Result<usize> {
    if let Some(closed) = process.files().dup_to(old, new, close_on_exec)? {
        record_locks::closing(process, &closed);
    }
    Ok(new as usize)
}
