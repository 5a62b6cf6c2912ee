// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fadvise64(2)`: says how a file will be used.
//!
//! Honoured: every kind of advice is taken for what it is, a hint, and changes nothing.
//!
//! Refused: nothing.

use hadal_vfs::FileKind;
use linux_raw_sys::general::POSIX_FADV_NOREUSE;

use crate::call::Call;
use crate::files::at;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Word, Word, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = at::open_file(call, 0)?;
    if file.inode().kind() == FileKind::Fifo {
        return Err(Errno::ESPIPE);
    }
    if (call.arg(2) as i64) < 0 || call.uint(3) > POSIX_FADV_NOREUSE {
        return Err(Errno::EINVAL);
    }
    Ok(0)
}
