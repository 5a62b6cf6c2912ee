// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `umask(2)`: sets the mode bits that new files do not get.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Octal);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    Ok(call.process.set_umask(call.uint(0) & 0o777) as usize)
}
