// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getppid(2)`: the parent: process 1, the kernel's own, for the machine's program and those whose parent has ended.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, family};

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(family::parent_id(call.process) as usize)
}
