// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpgrp(2)`: the process group of the calling process.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.family.group() as usize)
}
