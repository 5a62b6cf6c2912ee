// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tkill(2)`: sends a signal to one thread.
//!
//! Honoured: threads of the program; signal 0 only asks. Process 1 ignores what the superuser sends.
//!
//! Refused: process 1 for other users (`EPERM`), other threads (`ESRCH`), ids that are not positive (`EINVAL`).

use super::target;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Signal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let tid = call.int(0);
    if tid <= 0 {
        return Err(Errno::EINVAL);
    }
    target::kill_thread(call.process, tid, call.int(1))
}
