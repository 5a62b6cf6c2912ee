// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clock_gettime(2)`: reads a clock. Programs read the common ones through the vDSO.
//!
//! Honoured: `CLOCK_REALTIME`, `CLOCK_MONOTONIC`, their coarse and alarm variants and `CLOCK_TAI` (the same clocks),
//! `CLOCK_MONOTONIC_RAW` and `CLOCK_BOOTTIME` (as `CLOCK_MONOTONIC`), CPU time of the process, of its threads and of other
//! processes, also by negative ids.
//!
//! Refused: clocks of other processes' threads and of files (`EINVAL`).

use crate::call::Call;
use crate::clock::{Clock, Timespec};
use crate::strace::signature;
use crate::{Result, memory};

signature!(Choice(flags::CLOCK), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let clock = Clock::from_id(call.int(0), call.task, call.process)?;
    memory::write(call.arg(1), &Timespec::from_ns(clock.now_ns(call.process)))?;
    Ok(0)
}
