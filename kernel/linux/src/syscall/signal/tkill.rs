// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tkill(2)`: sends a signal to one thread.
//!
//! Honoured: threads of the program; signal 0 only asks.
//!
//! Refused: threads of others (`ESRCH`).

use super::target;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target::kill_thread(call.process, call.int(0), call.int(1))
}
