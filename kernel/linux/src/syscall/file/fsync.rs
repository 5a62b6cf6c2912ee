// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fsync(2)`: brings the data and attributes of a file to stable storage.
//!
//! Honoured: all of it; for a file of the host the host's own `fsync` is done.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{at, mapped};
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let open = at::open_file(call, 0)?;
    mapped::write_back(call.process, &open)?;
    open.file()?.fsync(false)?;
    Ok(0)
}
