// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mkdirat(2)`: creates a directory relative to a directory.
//!
//! Honoured: all of it; the umask applies.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::process::Process;
use crate::strace::signature;

signature!(Directory, Path, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    make(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, call.uint(2))
}

/// Creates a directory.
pub(super) fn make(process: &Process, dirfd: i32, path: &[u8], mode: u32) -> Result<usize> {
    let start = at::start(process, dirfd, path)?;
    process
        .namespace
        .mkdir(&process.caller(), &start, path, mode)
        .inspect_err(|&error| process.refused.note_write(process, &start, path, error))?;
    Ok(0)
}
