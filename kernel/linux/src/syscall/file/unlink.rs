// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `unlink(2)`: removes a name that is not a directory's.
//!
//! Honoured: all of it; open files stay usable.
//!
//! Refused: nothing.

use super::at;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Path);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let process = call.process;
    process.namespace.unlink(&process.caller(), &process.cwd(), &at::path(call, 0)?)?;
    Ok(0)
}
