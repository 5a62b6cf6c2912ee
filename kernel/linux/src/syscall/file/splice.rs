// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `splice(2)`: would move data between a pipe and a file without copying it through the program.
//!
//! Honoured: nothing.
//!
//! Refused: everything (EINVAL), as by files of Linux that cannot do it: programs read and write then.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Int, Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.process.files().get(call.int(0))?;
    call.process.files().get(call.int(2))?;
    Err(Errno::EINVAL)
}
