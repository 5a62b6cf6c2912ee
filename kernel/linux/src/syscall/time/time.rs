// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `time(2)`: the wall clock in seconds.
//!
//! Honoured: both results.
//!
//! Refused: nothing.

use hadal_time::NS_PER_SECOND;

use crate::call::Call;
use crate::clock::Clock;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let seconds = Clock::Realtime.now_ns(call.process) / NS_PER_SECOND;
    memory::write_unless_null(call.arg(0), &seconds)?;
    Ok(seconds as usize)
}
