// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `munlock(2)`: the opposite of `mlock`.
//!
//! Honoured: any range of mappings.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::common::unlock(call)
}
