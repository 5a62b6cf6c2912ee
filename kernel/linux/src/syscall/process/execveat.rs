// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `execveat(2)`: would replace the program.
//!
//! Honoured: nothing.
//!
//! Refused: everything: ENOSYS, with a message.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Directory, Path, Address, Address, Flags(&flags::AT));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::no_copy::refuse(call, "execveat", super::no_copy::NO_SECOND)
}
