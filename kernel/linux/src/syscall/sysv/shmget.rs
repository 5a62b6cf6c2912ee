// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `shmget(2)`: finds the segment of shared memory with a key, or makes one.
//!
//! Honoured: `IPC_CREAT`, `IPC_EXCL`, mode bits, `SHM_NORESERVE` (as all memory: nothing is reserved). A size beyond the memory of the
//! machine is `ENOMEM`.
//!
//! Refused: `SHM_HUGETLB` (`EINVAL`): there are no huge pages to ask for; other flags are ignored, as on Linux.

use crate::call::Call;
use crate::strace::signature;
use crate::sysv::segments;
use crate::{Errno, Result};

/// `SHM_HUGETLB`.
const HUGE_PAGES: i32 = 0o4000;

signature!(Int, Size, Flags(&flags::SHMGET));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.int(2);
    if flags & HUGE_PAGES != 0 {
        return Err(Errno::EINVAL);
    }
    segments::get(call.process, call.int(0), call.arg(1), flags).map(|id| id as usize)
}
