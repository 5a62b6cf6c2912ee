// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setscheduler(2)`: sets the policy of a thread.
//!
//! Honoured: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE with priority 0 (all are the one policy there is).
//!
//! Refused: SCHED_FIFO, SCHED_RR, SCHED_DEADLINE (EPERM, as for a program without privileges on Linux), others (EINVAL).

use linux_raw_sys::general::{SCHED_BATCH, SCHED_DEADLINE, SCHED_FIFO, SCHED_IDLE, SCHED_NORMAL, SCHED_RR};

use super::target::target;
use crate::call::Call;
use crate::{Errno, Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target(call)?;
    let priority: i32 = memory::read(call.arg(2))?;
    const SCHED_RESET_ON_FORK: u32 = 0x4000_0000;
    match call.uint(1) & !SCHED_RESET_ON_FORK {
        SCHED_NORMAL | SCHED_BATCH | SCHED_IDLE if priority == 0 => Ok(0),
        SCHED_FIFO | SCHED_RR | SCHED_DEADLINE if (1..=99).contains(&priority) => Err(Errno::EPERM),
        _ => Err(Errno::EINVAL),
    }
}
