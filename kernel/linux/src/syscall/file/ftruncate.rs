// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ftruncate(2)`: sets the length of an open file.
//!
//! Honoured: all of it; growth reads as zeros; `RLIMIT_FSIZE` (SIGXFSZ and `EFBIG`).
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{at, mapped, size_limit, transfer};
use crate::strace::signature;

signature!(Int, Word);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let len = transfer::position(call.arg(1))?;
    let open = at::open_file(call, 0)?;
    size_limit::admit(call, len, || size_limit::of_open(&open))?;
    open.truncate(len)?;
    mapped::ends_at(call.process, open.inode(), len);
    Ok(0)
}
