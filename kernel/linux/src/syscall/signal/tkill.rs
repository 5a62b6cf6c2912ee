// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `tkill(2)`: sends a signal to one thread.
//!
//! Honoured: threads of the program; signal 0 only asks. Process 1 ignores what the superuser sends.
//!
//! Refused: process 1 for other users (`EPERM`), other threads (`ESRCH`), ids that are not positive (`EINVAL`).

use super::target;
use crate::call::Call;
use crate::first::{self, Named};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Signal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let tid = call.int(0);
    if tid <= 0 {
        return Err(Errno::EINVAL);
    }
    match first::named(call.process, tid) {
        Ok(Named::First) => target::to_first(call.process, call.int(1)),
        Ok(Named::Own) => target::kill_own_thread(call, tid, call.int(1)),
        Err(_) => target::kill_other_thread(call, None, tid, call.int(1)),
    }
}
