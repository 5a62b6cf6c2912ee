// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `gettimeofday(2)`: the wall clock in microseconds.
//!
//! Honoured: both results; the time zone is UTC.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::clock::{Clock, Timeval};
use crate::strace::signature;
use crate::{Result, memory};

/// `struct timezone`: minutes west of Greenwich, kind of daylight saving time.
const UTC: [i32; 2] = [0; 2];

signature!(Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    memory::write_unless_null(call.arg(0), &Timeval::from_ns(Clock::Realtime.now_ns(call.process)))?;
    memory::write_unless_null(call.arg(1), &UTC)?;
    Ok(0)
}
