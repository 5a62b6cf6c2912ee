// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `open(2)`: opens a file, and may create it.
//!
//! Honoured: as `openat`.
//!
//! Refused: as `openat`.

use crate::Result;
use crate::call::Call;
use crate::files::{at, opening};
use crate::strace::signature;

signature!(|words| match flags::makes_file(words[1]) {
    true => &[Path, Flags(&flags::OPEN), Octal],
    false => &[Path, Flags(&flags::OPEN)],
});

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let mut room = at::Text::new();
    let path = at::path(call, 0, &mut room)?;
    opening::open(call.process, at::AT_FDCWD, path, call.uint(1), call.uint(2))
}
