// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clock_getres(2)`: the resolution of a clock, which is a nanosecond for all: the coarse clocks are not coarse here.
//!
//! Honoured: the clocks of `clock_gettime`.
//!
//! Refused: clocks of other processes and of files (`EINVAL`).

use crate::call::Call;
use crate::clock::{Clock, Timespec};
use crate::strace::signature;
use crate::{Result, memory};

signature!(Choice(flags::CLOCK), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Clock::from_id(call.int(0), call.task, call.process)?;
    memory::write_unless_null(call.arg(1), &Timespec::from_ns(1))?;
    Ok(0)
}
