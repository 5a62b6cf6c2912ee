// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `close_range(2)`: gives back all descriptors of a range.
//!
//! Honoured: `CLOSE_RANGE_CLOEXEC`, `CLOSE_RANGE_UNSHARE`.
//!
//! Refused: `CLOSE_RANGE_UNSHARE` of a process with several threads (`EINVAL`): they share one table.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, record_locks};

/// First give the process a table of its own (`CLOSE_RANGE_UNSHARE`).
const UNSHARE: u32 = 1 << 1;
/// Mark the descriptors instead of closing them (`CLOSE_RANGE_CLOEXEC`).
const ON_EXEC: u32 = 1 << 2;

signature!(Int, Int, Flags(&flags::CLOSE_RANGE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (first, last, flags, process) = (call.uint(0), call.uint(1), call.uint(2), call.process);
    if first > last || flags & !(UNSHARE | ON_EXEC) != 0 {
        return Err(Errno::EINVAL);
    }
    if flags & UNSHARE != 0 {
        if process.thread_count() > 1 {
            return Err(Errno::EINVAL);
        }
        process.unshare_files()?;
    }
    let files = process.files();
    if flags & ON_EXEC != 0 {
        files.close_range_on_exec(first, last);
    } else {
        record_locks::closing_some(process, files.taken(first, last), |_| true);
        files.close_range(first, last);
    }
    Ok(0)
}
