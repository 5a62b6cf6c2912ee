// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setpgid(2)`: moves a process to a process group.
//!
//! Honoured: the caller and its children, as long as these have not called `execve`; a group of the same session, or one of its
//! own.
//!
//! Refused: as on Linux.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, family};

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (pid, group) = (call.int(0), call.int(1));
    // Without a group a process is to make one of its own.
    if group < 0 || group == 0 && pid < 0 {
        return Err(Errno::EINVAL);
    }
    let own = call.process.pid();
    let pid = if pid == 0 { own } else { u32::try_from(pid).map_err(|_| Errno::ESRCH)? };
    let group = if group == 0 { pid } else { group as u32 };
    family::set_group(call.process, pid, group).map(|()| 0)
}
