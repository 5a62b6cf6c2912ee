// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `vfork(2)`: would start a second program.
//!
//! Honoured: nothing.
//!
//! Refused: everything: ENOSYS, with a message.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::no_copy::refuse(call, "vfork", super::no_copy::NO_SECOND)
}
