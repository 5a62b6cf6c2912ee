// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pwritev(2)`: writes several buffers at a position.
//!
//! Honoured: up to 1024 buffers; every seekable file, `ESPIPE` for the others.
//!
//! Refused: as `write`.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segments;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Address, Int, Word);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let position = transfer::position(call.arg(3))?;
    let file = call.process.files().get(call.int(0))?;
    transfer::write(call, &file, Segments::vector(call.arg(1), call.arg(2))?, Some(position))
}
