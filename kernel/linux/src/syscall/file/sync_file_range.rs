// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sync_file_range(2)`: brings part of a file's data to stable storage.
//!
//! Honoured: every combination of flags; all data of the file is brought there, not only the range.
//!
//! Refused: nothing; other flags are `EINVAL`.

use hadal_vfs::FileKind;
use linux_raw_sys::general::SYNC_FILE_RANGE_WRITE_AND_WAIT;

use crate::call::Call;
use crate::files::{at, transfer};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Word, Word, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = at::open_file(call, 0)?;
    let flags = call.uint(3);
    at::check_flags(flags, SYNC_FILE_RANGE_WRITE_AND_WAIT)?;
    let (offset, len) = (transfer::position(call.arg(1))?, transfer::position(call.arg(2))?);
    transfer::position(offset.saturating_add(len) as usize)?;
    if matches!(file.inode().kind(), FileKind::Fifo | FileKind::Socket | FileKind::CharDevice) {
        return Err(Errno::ESPIPE);
    }
    if flags != 0 {
        file.file()?.fsync(true)?;
    }
    Ok(0)
}
