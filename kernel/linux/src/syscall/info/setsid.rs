// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setsid(2)`: makes the calling process the leader of a new session.
//!
//! Honoured: the call.
//!
//! Refused: a leader of a process group (EPERM), as the machine's program is.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!();

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (process, pid) = (call.process, call.process.pid());
    if process.family.group() == pid {
        return Err(Errno::EPERM);
    }
    process.family.lead_session(pid);
    Ok(pid as usize)
}
