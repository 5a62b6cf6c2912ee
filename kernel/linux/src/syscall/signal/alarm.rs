// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `alarm(2)`: a `SIGALRM` after some seconds; it shares its timer with `ITIMER_REAL`.
//!
//! Honoured: everything.
//!
//! Refused: nothing.

use hadal_time::NS_PER_SECOND;

use crate::Result;
use crate::call::Call;
use crate::clock;
use crate::signal::timer::Interval;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let seconds = u64::from(call.uint(0));
    let timer = call.process.signals.timers().interval(call.process, Interval::Real)?;
    let expires = (seconds != 0).then(|| clock::after(seconds * NS_PER_SECOND));
    let previous = timer.set(expires, 0)?;
    Ok(whole_seconds(previous.remaining_ns) as usize)
}

/// Rounded to nearest, but never to 0 while the alarm is still to come.
fn whole_seconds(remaining_ns: u64) -> u64 {
    let seconds = (remaining_ns + NS_PER_SECOND / 2) / NS_PER_SECOND;
    if remaining_ns == 0 { 0 } else { seconds.max(1) }
}

#[cfg(test)]
mod tests {
    use super::whole_seconds;

    #[test]
    fn rounding() {
        assert_eq!([0, 1, 1_499_999_999, 1_500_000_000].map(whole_seconds), [0, 1, 1, 2]);
    }
}
