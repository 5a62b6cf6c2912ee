// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `readv(2)`: reads from a descriptor into several buffers.
//!
//! Honoured: up to 1024 buffers; otherwise as `read`.
//!
//! Refused: as `read`.

use crate::Result;
use crate::call::Call;
use crate::files::segments::Segments;
use crate::files::transfer;
use crate::strace::signature;

signature!(Int, Address, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = call.process.files().get(call.int(0))?;
    transfer::read(call, &file, Segments::vector(call.arg(1), call.arg(2))?, None)
}
