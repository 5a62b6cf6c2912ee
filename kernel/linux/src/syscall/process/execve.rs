// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `execve(2)`: would replace the program.
//!
//! Honoured: nothing.
//!
//! Refused: everything: ENOSYS, with a message.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Path, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::no_copy::refuse(call, "execve", super::no_copy::NO_SECOND)
}
