// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ftruncate(2)`: sets the length of an open file.
//!
//! Honoured: all of it; growth reads as zeros.
//!
//! Refused: `RLIMIT_FSIZE` is not enforced.

use super::transfer;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let len = transfer::position(call.arg(1))?;
    super::at::open_file(call, 0)?.truncate(len)?;
    Ok(0)
}
