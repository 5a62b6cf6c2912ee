// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `timer_delete(2)`: ends a timer. A signal that it has sent is still delivered.
//!
//! Honoured: everything.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.process.signals.timers().delete(call.int(0))?;
    Ok(0)
}
