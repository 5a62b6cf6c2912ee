// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `brk(2)`: moves the end of the heap; returns the end as it is afterwards, also when it could not be moved.
//!
//! Honoured: growing and shrinking.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::{Result, filling};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let space = &call.process.space;
    if !call.process.fills_at_once {
        return Ok(space.brk(call.arg(0)));
    }
    let old_end = space.brk(0);
    let new_end = space.brk(call.arg(0));
    filling::fill(call.process, old_end, new_end.saturating_sub(old_end));
    Ok(new_end)
}
