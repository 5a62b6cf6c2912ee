// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timer_settime(2)`: arms or disarms a timer.
//!
//! Honoured: `TIMER_ABSTIME`.
//!
//! Refused: nothing; other flags have no meaning.

use linux_raw_sys::general::TIMER_ABSTIME;

use super::timer_spec::TimerSpec;
use crate::call::Call;
use crate::clock::{self, FOREVER_NS};
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Int, Flags(&flags::TIMER), Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (id, flags, new, old) = (call.int(0), call.uint(1), call.arg(2), call.arg(3));
    if new == 0 {
        return Err(Errno::EINVAL);
    }
    let (value_ns, interval_ns) = memory::read::<TimerSpec>(new)?.to_ns()?;
    let (timer, is_realtime) = call.process.signals.timers().find(id)?;
    let absolute = flags & TIMER_ABSTIME != 0;
    let expires = match value_ns {
        0 => None,
        value if absolute && is_realtime => Some(clock::monotonic_at(value)),
        value if absolute => Some(value),
        value => Some(timer.now_ns().saturating_add(value).min(FOREVER_NS)),
    };
    let previous = timer.set(expires, interval_ns)?;
    memory::write_unless_null(old, &TimerSpec::from(previous))?;
    Ok(0)
}
