// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timerfd_settime(2)`: arms or disarms a timer that is a file.
//!
//! Honoured: `TFD_TIMER_ABSTIME`; `TFD_TIMER_CANCEL_ON_SET` is accepted: the wall clock is never set while a program runs.
//!
//! Refused: nothing; other flags are `EINVAL`.

use linux_raw_sys::general::{TFD_TIMER_ABSTIME, TFD_TIMER_CANCEL_ON_SET};

use crate::call::Call;
use crate::clock;
use crate::files::at;
use crate::strace::signature;
use crate::syscall::signal::timer_spec::TimerSpec;
use crate::timerfd::TimerFile;
use crate::{Result, memory};

signature!(Int, Hex, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (flags, old) = (call.uint(1), call.arg(3));
    let spec: TimerSpec = memory::read(call.arg(2))?;
    at::check_flags(flags, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET)?;
    let (value_ns, interval_ns) = spec.to_ns()?;
    let file = call.process.files().get(call.int(0))?;
    let timer = TimerFile::of(&file)?;
    let absolute = flags & TFD_TIMER_ABSTIME != 0;
    let expires = match value_ns {
        0 => None,
        value if absolute && timer.is_realtime => Some(clock::monotonic_at(value)),
        value if absolute => Some(value),
        value => Some(clock::after(value)),
    };
    let previous = timer.set(expires, interval_ns)?;
    memory::write_unless_null(old, &TimerSpec::from(previous))?;
    Ok(0)
}
