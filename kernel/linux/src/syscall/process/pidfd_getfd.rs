// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pidfd_getfd(2)`: takes a copy of another process's descriptor.
//!
//! Honoured: all files. The copy is closed by `execve`.
//!
//! Refused: processes that the caller may not send signals to (EPERM); flags (EINVAL).

use crate::call::Call;
use crate::pidfd::ProcessFile;
use crate::strace::signature;
use crate::{Errno, Result, family};

signature!(Int, Int, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(2) != 0 {
        return Err(Errno::EINVAL);
    }
    let file = call.process.files.get(call.int(0))?;
    let other = ProcessFile::of(&file)?.hold().ok_or(Errno::ESRCH)?;
    if !family::may_signal(call.process, &other, 0) {
        return Err(Errno::EPERM);
    }
    let wanted = other.files.get(call.int(1))?;
    call.process.files.insert(wanted, true).map(|fd| fd as usize)
}
