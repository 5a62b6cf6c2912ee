// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `flock(2)`: locks a whole file for an open file description.
//!
//! Honoured: `LOCK_SH`, `LOCK_EX`, `LOCK_UN`, `LOCK_NB`, among the open files of the program.
//!
//! Refused: nothing; the locks are not known to the host.

use linux_raw_sys::general::{LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN};

use crate::call::Call;
use crate::files::at;
use crate::files::file_locks::{self, LockKind};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = at::open_file(call, 0)?;
    let operation = call.uint(1);
    let kind = match operation & !LOCK_NB {
        LOCK_SH => LockKind::Shared,
        LOCK_EX => LockKind::Exclusive,
        LOCK_UN => {
            file_locks::unlock(&file);
            return Ok(0);
        }
        _ => return Err(Errno::EINVAL),
    };
    if operation & LOCK_NB == 0 {
        file_locks::lock(&file, kind)?;
    } else if !file_locks::try_lock(&file, kind)? {
        return Err(Errno::EAGAIN);
    }
    Ok(0)
}
