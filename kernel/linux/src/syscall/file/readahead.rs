// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `readahead(2)`: says that part of a file will be read soon.
//!
//! Honoured: it is taken for what it is, a hint, and changes nothing.
//!
//! Refused: nothing.

use hadal_vfs::FileKind;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Word, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    if !file.status().readable() {
        return Err(Errno::EBADF);
    }
    if file.inode().kind() == FileKind::Regular { Ok(0) } else { Err(Errno::EINVAL) }
}
