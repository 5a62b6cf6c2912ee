// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getppid(2)`: the parent: process 1, the kernel's own.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, first};

signature!();

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Ok(first::PID as usize)
}
