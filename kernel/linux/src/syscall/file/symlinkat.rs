// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `symlinkat(2)`: creates a symbolic link relative to a directory.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::process::Process;
use crate::strace::signature;

signature!(Path, Directory, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (text, path) = (at::path(call, 0, &mut first)?, at::path(call, 2, &mut second)?);
    make(call.process, text, call.int(1), path)
}

/// Creates a symbolic link that says `text`.
pub(super) fn make(process: &Process, text: &[u8], dirfd: i32, path: &[u8]) -> Result<usize> {
    let start = at::start(process, dirfd, path)?;
    process
        .namespace
        .symlink(&process.caller(), text, &start, path)
        .inspect_err(|&error| process.refused.note_write(process, &start, path, error))?;
    Ok(0)
}
