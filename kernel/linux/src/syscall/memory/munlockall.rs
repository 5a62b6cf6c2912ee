// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `munlockall(2)`: the opposite of mlockall(2), with as little to do.
//!
//! Honoured: the call.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Ok(0)
}
