// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timer_gettime(2)`: the time until a timer expires.
//!
//! Honoured: everything.
//!
//! Refused: nothing.

use super::timer_spec::TimerSpec;
use crate::Result;
use crate::call::Call;
use crate::memory;
use crate::strace::signature;

signature!(Int, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (timer, _) = call.process.signals.timers().find(call.int(0))?;
    memory::write(call.arg(1), &TimerSpec::from(timer.get()))?;
    Ok(0)
}
