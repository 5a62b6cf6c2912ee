// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getparam(2)`: the real-time priority of a thread, which is 0.
//!
//! Honoured: the call.
//!
//! Refused: unknown threads (ESRCH).

use super::target::target;
use crate::Result;
use crate::call::Call;
use crate::memory;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target(call)?;
    memory::write(call.arg(1), &0i32)?;
    Ok(0)
}
