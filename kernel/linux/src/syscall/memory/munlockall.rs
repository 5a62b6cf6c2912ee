// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `munlockall(2)`: the opposite of `mlockall`.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use super::errno;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.process.space().lock_all(Some(None), None, None).map_err(errno)?;
    Ok(0)
}
