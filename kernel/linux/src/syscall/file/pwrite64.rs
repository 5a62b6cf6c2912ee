// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pwrite64(2)`: writes at a position and leaves the offset alone.
//!
//! Honoured: every seekable file, `ESPIPE` for the others; with `O_APPEND` the data goes to the end, as on Linux.
//!
//! Refused: as `write`.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segment;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Input(2), Size, Word);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let position = transfer::position(call.arg(3))?;
    let file = call.process.files().get(call.int(0))?;
    transfer::write(call, &file, Segment::new(call.arg(1), call.arg(2))?, Some(position))
}
