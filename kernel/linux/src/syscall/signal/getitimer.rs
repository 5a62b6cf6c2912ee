// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getitimer(2)`: the time until an interval timer expires.
//!
//! Honoured: `ITIMER_REAL`, `ITIMER_VIRTUAL`, `ITIMER_PROF`.
//!
//! Refused: other timers (`EINVAL`).

use super::timer_spec::IntervalSpec;
use crate::Result;
use crate::call::Call;
use crate::memory;
use crate::signal::timer::Interval;
use crate::strace::signature;

signature!(Choice(flags::ITIMER), Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let which = Interval::from_number(call.int(0))?;
    let timer = call.process.signals.timers().interval(call.process, which)?;
    memory::write(call.arg(1), &IntervalSpec::from(timer.get()))?;
    Ok(0)
}
