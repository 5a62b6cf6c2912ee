// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `faccessat(2)`: `access` relative to a directory.
//!
//! Honoured: `F_OK`, `R_OK`, `W_OK`, `X_OK`; the call has no flags.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::{access_check, at};
use crate::strace::signature;

signature!(Directory, Path, Flags(&flags::ACCESS));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    access_check::check(call.process, call.int(0), at::path(call, 1, &mut at::Text::new())?, call.uint(2), 0)
}
