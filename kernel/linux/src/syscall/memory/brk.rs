// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `brk(2)`: moves the end of the heap; returns the end as it is afterwards, also when it could not be moved.
//!
//! Honoured: growing and shrinking, within `RLIMIT_AS` and `RLIMIT_DATA`; what `mlockall` has asked for, within `RLIMIT_MEMLOCK`.
//!
//! Refused: nothing.

use hadal_mem::space::Limits;

use crate::call::Call;
use crate::strace::signature;
use crate::{Result, filling, locking};

signature!(Address => Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let space = call.process.space();
    if !call.process.fills_at_once && !space.uses_locks() {
        return Ok(space.brk(call.arg(0), locking::limits(call.process)));
    }
    let old_end = space.brk(0, Limits::default());
    let new_end = space.brk(call.arg(0), locking::limits(call.process));
    filling::fill(call.process, old_end, new_end.saturating_sub(old_end));
    locking::fill(call.process, old_end, new_end.saturating_sub(old_end));
    Ok(new_end)
}
