// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `access(2)`: whether the program may use what a path names.
//!
//! Honoured: `F_OK`, `R_OK`, `W_OK`, `X_OK`, by the mode bits.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{access_check, at};
use crate::strace::signature;

signature!(Path, Flags(&flags::ACCESS));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    access_check::check(call.process, at::AT_FDCWD, at::path(call, 0, &mut at::Text::new())?, call.uint(1), 0)
}
