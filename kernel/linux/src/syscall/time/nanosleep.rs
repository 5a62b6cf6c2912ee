// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `nanosleep(2)`: sleeps on the monotonic clock.
//!
//! Honoured: everything; a signal handler ends the sleep, and the rest of it is stored.
//!
//! Refused: nothing.

use super::clock_nanosleep::sleep_for;
use crate::call::Call;
use crate::clock::{Clock, Timespec};
use crate::strace::signature;
use crate::{Result, memory};

signature!(Time, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let duration_ns = memory::read::<Timespec>(call.arg(0))?.to_ns()?;
    sleep_for(call, Clock::Monotonic, duration_ns, call.arg(1))
}
