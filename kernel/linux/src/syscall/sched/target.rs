// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The thread that a scheduling call is about.

use crate::call::Call;
use crate::task::Task;
use crate::{Errno, Result};

/// The thread of argument 0: 0 is the caller.
pub(super) fn target(call: &Call<'_>) -> Result<&'static Task> {
    match call.int(0) {
        0 => Ok(call.task),
        tid if tid < 0 => Err(Errno::EINVAL),
        tid => Task::find(call.process, tid as u32).ok_or(Errno::ESRCH),
    }
}
