// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_get_priority_min(2)`: the minimum real-time priority of a policy.
//!
//! Honoured: all policies.
//!
//! Refused: unknown ones (EINVAL).

use linux_raw_sys::general::{SCHED_BATCH, SCHED_DEADLINE, SCHED_FIFO, SCHED_IDLE, SCHED_NORMAL, SCHED_RR};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Choice(flags::POLICY));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    match call.uint(0) {
        SCHED_FIFO | SCHED_RR => Ok(1),
        SCHED_NORMAL | SCHED_BATCH | SCHED_IDLE | SCHED_DEADLINE => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}
