// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_yield(2)`: lets another ready thread of this CPU run.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!();

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    hadal_sched::yield_to_all();
    Ok(0)
}
