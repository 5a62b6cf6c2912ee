// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fchmod(2)`: changes the permission bits of an open file.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::files::at::{self, Target};
use crate::files::permissions;
use crate::strace::signature;

signature!(Int, Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    permissions::set_mode(call.process, &Target::Open(at::open_file(call, 0)?), call.uint(1))
}
