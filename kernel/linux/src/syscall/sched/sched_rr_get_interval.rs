// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_rr_get_interval(2)`: how long a thread runs while others wait.
//!
//! Honoured: any thread of any process.
//!
//! Refused: unknown threads (ESRCH).

use super::target;
use crate::Result;
use crate::call::Call;
use crate::memory;
use crate::strace::signature;

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target::find_positive(call)?;
    memory::write(call.arg(1), &[0i64, hadal_sched::SLICE_NS as i64])?;
    Ok(0)
}
