// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `brk(2)`: moves the end of the heap; returns the end as it is afterwards, also when it could not be moved.
//!
//! Honoured: growing and shrinking.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.space.brk(call.arg(0)))
}
