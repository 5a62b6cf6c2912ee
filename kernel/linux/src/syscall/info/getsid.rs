// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsid(2)`: the session of a process, which the process leads itself.
//!
//! Honoured: 0 and the process's own id.
//!
//! Refused: other processes (`ESRCH`).

use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (wanted, own) = (call.uint(0), call.process.pid());
    if wanted == 0 || wanted == own || call.process.has_thread(wanted) {
        Ok(own as usize)
    } else {
        Err(Errno::ESRCH)
    }
}
