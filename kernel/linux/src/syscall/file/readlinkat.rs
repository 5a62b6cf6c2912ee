// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `readlinkat(2)`: the text of a symbolic link relative to a directory.
//!
//! Honoured: all of it; an empty path means the link behind an `O_PATH|O_NOFOLLOW` descriptor.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{at, link_text};
use crate::strace::signature;

signature!(Directory, Path, Output, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    link_text::read(call, call.int(0), at::path(call, 1, &mut at::Text::new())?, call.arg(2), call.int(3))
}
