// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `lseek(2)`: moves the offset of an open file.
//!
//! Honoured: `SEEK_SET`, `SEEK_CUR`, `SEEK_END`; `SEEK_DATA` and `SEEK_HOLE`, which take a file as one piece of data with
//! a hole at its end.
//!
//! Refused: nothing.

use hadal_vfs::SeekFrom;
use linux_raw_sys::general::{SEEK_CUR, SEEK_DATA, SEEK_END, SEEK_HOLE, SEEK_SET};

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Word, Choice(flags::WHENCE));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    let by = call.arg(1) as i64;
    let from = match call.uint(2) {
        SEEK_SET => SeekFrom::Start(by),
        SEEK_CUR => SeekFrom::Current(by),
        SEEK_END => SeekFrom::End(by),
        SEEK_DATA => SeekFrom::Data(by),
        SEEK_HOLE => SeekFrom::Hole(by),
        _ => return Err(Errno::EINVAL),
    };
    file.seek(from).map(|offset| offset as usize)
}
