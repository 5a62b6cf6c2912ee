// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `creat(2)`: `open` with `O_CREAT`, `O_WRONLY` and `O_TRUNC`.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use linux_raw_sys::general::{O_CREAT, O_TRUNC, O_WRONLY};

use crate::Result;
use crate::call::Call;
use crate::files::{at, opening};
use crate::strace::signature;

signature!(Path, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut room = at::Text::new();
    let path = at::path(call, 0, &mut room)?;
    opening::open(call.process, at::AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, call.uint(1))
}
