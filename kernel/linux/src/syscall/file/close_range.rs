// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `close_range(2)`: gives back all descriptors of a range.
//!
//! Honoured: `CLOSE_RANGE_CLOEXEC`.
//!
//! Refused: `CLOSE_RANGE_UNSHARE` (`EINVAL`): the threads of a program share one table.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, record_locks};

/// Mark the descriptors instead of closing them (`CLOSE_RANGE_CLOEXEC`).
const ON_EXEC: u32 = 1 << 2;

signature!(Int, Int, Flags(&flags::CLOSE_RANGE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (first, last) = (call.uint(0), call.uint(1));
    if first > last {
        return Err(Errno::EINVAL);
    }
    match call.uint(2) {
        0 => {
            record_locks::closing_some(call.process, call.process.files().taken(first, last), |_| true);
            call.process.files().close_range(first, last);
        }
        ON_EXEC => call.process.files().close_range_on_exec(first, last),
        _ => return Err(Errno::EINVAL),
    }
    Ok(0)
}
