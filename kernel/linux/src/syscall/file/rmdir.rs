// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rmdir(2)`: removes an empty directory.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use super::at;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let process = call.process;
    process.namespace.rmdir(&process.caller(), &process.cwd(), &at::path(call, 0)?)?;
    Ok(0)
}
