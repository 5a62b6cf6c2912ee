// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `symlink(2)`: creates a symbolic link.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use super::symlinkat;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path, Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (mut first, mut second) = (at::Text::new(), at::Text::new());
    let (text, path) = (at::path(call, 0, &mut first)?, at::path(call, 1, &mut second)?);
    symlinkat::make(call.process, text, at::AT_FDCWD, path)
}
