// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getresgid(2)`: real, effective and saved group id, which are all the same.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::call::Call;
use crate::{Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    for index in 0..3 {
        memory::write(call.arg(index), &call.process.credentials.gid)?;
    }
    Ok(0)
}
