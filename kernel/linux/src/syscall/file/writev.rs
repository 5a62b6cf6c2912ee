// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `writev(2)`: writes several buffers to a descriptor.
//!
//! Honoured: up to 1024 buffers, which reach a stream in one piece up to 256 KiB; otherwise as `write`.
//!
//! Refused: as `write`.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segments;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Address, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    transfer::write(call, &file, Segments::vector(call.arg(1), call.arg(2))?, None)
}
