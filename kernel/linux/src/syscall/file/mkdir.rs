// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mkdir(2)`: creates a directory.
//!
//! Honoured: all of it; the umask applies.
//!
//! Refused: nothing.

use super::mkdirat;
use crate::Result;
use crate::call::Call;
use crate::files::at;
use crate::strace::signature;

signature!(Path, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    mkdirat::make(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, call.uint(1))
}
