// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setpgid(2)`: moves a process to a process group.
//!
//! Honoured: nothing that would change anything: the process leads its session, and such a process cannot be moved.
//!
//! Refused: the own process (`EPERM`, as on Linux for the leader of a session), other processes (`ESRCH`), a negative group
//! (`EINVAL`).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, group, own) = (call.int(0), call.int(1), call.process.pid() as i32);
    // Without a group a process is to make one of its own.
    if group < 0 || group == 0 && pid < 0 {
        return Err(Errno::EINVAL);
    }
    if pid != 0 && pid != own {
        return Err(Errno::ESRCH);
    }
    Err(Errno::EPERM)
}
