// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_getscheduler(2)`: the policy of a thread.
//!
//! Honoured: SCHED_OTHER is the one policy for programs.
//!
//! Refused: unknown threads (ESRCH).

use linux_raw_sys::general::SCHED_NORMAL;

use super::target::target;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target(call)?;
    Ok(SCHED_NORMAL as usize)
}
