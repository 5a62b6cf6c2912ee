// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `eventfd(2)`: `eventfd2` without flags.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use super::eventfd2;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    eventfd2::make(call, 0)
}
