// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getgid(2)`: the group id.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.credentials.group().real as usize)
}
