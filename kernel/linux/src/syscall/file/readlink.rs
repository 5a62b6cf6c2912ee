// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `readlink(2)`: the text of a symbolic link.
//!
//! Honoured: all of it, `/proc/self/exe` and its like included.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{at, link_text};
use crate::strace::signature;

signature!(Path, Output, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    link_text::read(call, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, call.arg(1), call.int(2))
}
