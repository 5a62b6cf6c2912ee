// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long a process may make files (`RLIMIT_FSIZE`): what would make one longer gets SIGXFSZ and `EFBIG`, a write that begins
//! below the limit ends there.

use hadal_vfs::{FileKind, OpenFile, Writing};

use crate::call::Call;
use crate::signal::number::SIGXFSZ;
use crate::signal::send;
use crate::{Errno, Result};

/// Whether the process has no limit.
#[inline]
pub(crate) fn is_unlimited(call: &Call<'_>) -> bool {
    call.process.file_limit() == u64::MAX
}

/// A step of a write, within the limit.
pub(crate) fn write(
    call: &Call<'_>,
    file: &OpenFile,
    writing: &mut Writing<'_>,
    data: &[u8],
) -> Result<usize> {
    // Only files have a size.
    if is_unlimited(call) || file.inode().kind() != FileKind::Regular {
        return writing.write(data);
    }
    writing.write_within(call.process.file_limit(), data)
}

/// Whether a file may get a size. `present` says which it has, or an error if the size cannot be set anyhow: then the limit is not
/// what is in the way, and whoever sets it says what is.
pub(crate) fn admit(call: &Call<'_>, size: u64, present: impl FnOnce() -> Result<u64>) -> Result<()> {
    let is_too_long = size > call.process.file_limit() && present().is_ok_and(|present| size > present);
    if !is_too_long {
        return Ok(());
    }
    note(call, Errno::EFBIG);
    Err(Errno::EFBIG)
}

/// The size of an open file, if it can be set.
pub(crate) fn of_open(open: &OpenFile) -> Result<u64> {
    if !open.status().writable() || open.inode().kind() != FileKind::Regular {
        return Err(Errno::EINVAL);
    }
    open.file()?.size()
}

/// Raises SIGXFSZ for a write that failed because of the limit.
pub(crate) fn note(call: &Call<'_>, error: Errno) {
    if error == Errno::EFBIG && !is_unlimited(call) {
        send::to_self(call.task, call.process, SIGXFSZ);
    }
}
