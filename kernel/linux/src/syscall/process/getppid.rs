// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getppid(2)`: the parent, which is outside of the process ids that the program can see: 0.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Ok(0)
}
