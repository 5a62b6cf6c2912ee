// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlock(2)`: memory is never swapped out, so it is locked by construction; only the range is checked.
//!
//! Honoured: any range of mappings.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::common::mapped_range(call)
}
