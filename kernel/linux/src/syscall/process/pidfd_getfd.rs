// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pidfd_getfd(2)`: takes a copy of another process's descriptor.
//!
//! Honoured: all files. The copy is closed by `execve`.
//!
//! Refused: processes of other users or groups and those that are not dumpable, for all but the superuser (EPERM); those that have
//! ended (ESRCH); flags (EINVAL).

use crate::call::Call;
use crate::other_memory::may_trace;
use crate::pidfd::ProcessFile;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Int, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(2) != 0 {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files().get(call.int(0))?;
    let other = ProcessFile::of(&file)?.hold().ok_or(Errno::ESRCH)?;
    if !may_trace(call.process, &other) {
        return Err(Errno::EPERM);
    }
    if other.family.has_ended() || other.ending().is_some() {
        return Err(Errno::ESRCH);
    }
    let fd = call.int(1);
    let wanted = other.look_at_files(|files| files.get(fd))?;
    call.process.files().insert(wanted, true).map(|fd| fd as usize)
}
