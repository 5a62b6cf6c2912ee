// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `preadv2(2)`: `preadv` with flags, or `readv` when the position is -1.
//!
//! Honoured: `RWF_HIPRI` (a hint).
//!
//! Refused: every other flag (`EOPNOTSUPP`), `RWF_NOWAIT` among them.

use linux_raw_sys::general::RWF_HIPRI;

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
    if call.uint(5) & !RWF_HIPRI != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    transfer::read(call, &file, buffers, position)
}
