// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `clock_settime(2)`: sets a clock, which no program may.
//!
//! Honoured: nothing.
//!
//! Refused: setting `CLOCK_REALTIME` (`EPERM`), other clocks (`EINVAL`).

use crate::call::Call;
use crate::clock::{Clock, Timespec};
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Choice(flags::CLOCK), Time);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    const REALTIME: i32 = linux_raw_sys::general::CLOCK_REALTIME as i32;
    Clock::from_id(call.int(0), call.task, call.process)?;
    memory::read::<Timespec>(call.arg(1))?.to_ns()?;
    Err(if call.int(0) == REALTIME { Errno::EPERM } else { Errno::EINVAL })
}
