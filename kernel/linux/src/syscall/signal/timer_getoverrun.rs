// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timer_getoverrun(2)`: how often a timer expired between its last signal and the delivery of that signal.
//!
//! Honoured: everything.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (timer, _) = call.process.signals.timers().find(call.int(0))?;
    Ok(timer.overrun() as usize)
}
