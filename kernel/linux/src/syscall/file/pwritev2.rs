// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pwritev2(2)`: `pwritev` with flags, or `writev` when the position is -1.
//!
//! Honoured: `RWF_HIPRI` (a hint), `RWF_DSYNC`, `RWF_SYNC`.
//!
//! Refused: every other flag (`EOPNOTSUPP`), `RWF_NOWAIT` and `RWF_APPEND` among them.

use linux_raw_sys::general::{RWF_DSYNC, RWF_HIPRI, RWF_SYNC};

use crate::call::Call;
use crate::files::segments::Segments;
use crate::files::transfer;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Int, Word, Hex, Flags(&flags::RW));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let position = transfer::position_or_shared(call.arg(3))?;
    let file = call.process.files().get(call.int(0))?;
    let buffers = Segments::vector(call.arg(1), call.arg(2))?;
    let flags = call.uint(5);
    if flags & !(RWF_HIPRI | RWF_DSYNC | RWF_SYNC) != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    let count = transfer::write(call, &file, buffers, position)?;
    if flags & (RWF_DSYNC | RWF_SYNC) != 0 && count > 0 {
        file.file()?.fsync(flags & RWF_SYNC == 0)?;
    }
    Ok(count)
}
