// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setitimer(2)`: arms an interval timer of the process.
//!
//! Honoured: `ITIMER_REAL`; `ITIMER_VIRTUAL` and `ITIMER_PROF` by the CPU time of all threads, which is not split into program
//! and kernel, with a precision of a millisecond. A null new value disarms.
//!
//! Refused: other timers (`EINVAL`).

use super::timer_spec::IntervalSpec;
use crate::Result;
use crate::call::Call;
use crate::clock::FOREVER_NS;
use crate::memory;
use crate::signal::timer::Interval;
use crate::strace::signature;

signature!(Choice(flags::ITIMER), Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (which, new, old) = (call.int(0), call.arg(1), call.arg(2));
    let spec = if new == 0 { IntervalSpec::default() } else { memory::read(new)? };
    let (value_ns, interval_ns) = spec.to_ns()?;
    let timer = call.process.signals.timers().interval(call.process, Interval::from_number(which)?)?;
    let expires = (value_ns != 0).then(|| timer.now_ns().saturating_add(value_ns).min(FOREVER_NS));
    let previous = timer.set(expires, interval_ns)?;
    memory::write_unless_null(old, &IntervalSpec::from(previous))?;
    Ok(0)
}
