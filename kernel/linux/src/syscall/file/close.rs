// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `close(2)`: gives a descriptor back.
//!
//! Honoured: all of it; the number is free again at once, and the lowest free number is used next.
//!
//! Refused: nothing.

use super::file_locks;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    drop(call.process.files.remove(call.int(0))?);
    file_locks::after_close();
    Ok(0)
}
