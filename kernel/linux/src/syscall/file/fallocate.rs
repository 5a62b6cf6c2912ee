// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fallocate(2)`: reserves or releases storage of a file.
//!
//! Honoured: mode 0, `FALLOC_FL_KEEP_SIZE`, `FALLOC_FL_PUNCH_HOLE` with `FALLOC_FL_KEEP_SIZE`, `FALLOC_FL_ZERO_RANGE`,
//! on file systems that can do it: in memory; `RLIMIT_FSIZE` (SIGXFSZ and `EFBIG`). Files of the host are `EOPNOTSUPP`, for which the protocol has no message.
//!
//! Refused: every other mode (`EOPNOTSUPP`).

use hadal_vfs::{AllocateMode, FileKind};
use linux_raw_sys::general::{FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE, FALLOC_FL_ZERO_RANGE};

use crate::call::Call;
use crate::files::size_limit;
use crate::strace::signature;
use crate::{Errno, Result};

const PUNCH_HOLE: u32 = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

signature!(Int, Flags(&flags::ALLOCATE), Word, Word);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let (offset, len) = (call.arg(2) as i64, call.arg(3) as i64);
    if offset < 0 || len <= 0 {
        return Err(Errno::EINVAL);
    }
    let mode = match call.uint(1) {
        0 => AllocateMode::Extend,
        FALLOC_FL_KEEP_SIZE => AllocateMode::KeepSize,
        PUNCH_HOLE => AllocateMode::PunchHole,
        FALLOC_FL_ZERO_RANGE => AllocateMode::ZeroRange,
        _ => return Err(Errno::EOPNOTSUPP),
    };
    if !file.status().writable() {
        return Err(Errno::EBADF);
    }
    match file.inode().kind() {
        FileKind::Regular => {}
        FileKind::Fifo => return Err(Errno::ESPIPE),
        _ => return Err(Errno::ENODEV),
    }
    let Some(end) = offset.checked_add(len) else { return Err(Errno::EFBIG) };
    if matches!(mode, AllocateMode::Extend | AllocateMode::ZeroRange) {
        size_limit::admit(call, end as u64, || size_limit::of_open(&file))?;
    }
    file.file()?.allocate(mode, offset as u64, len as u64)?;
    Ok(0)
}
