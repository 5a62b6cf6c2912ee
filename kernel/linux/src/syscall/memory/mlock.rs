// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlock(2)`: locks memory and fills it. Nothing is ever swapped out.
//!
//! Honoured: any range of mappings; `RLIMIT_MEMLOCK`, which has no value at the start of a program and does not concern the
//! superuser (`ENOMEM` beyond it, `EPERM` if it is 0).
//!
//! Refused: nothing.

use hadal_mem::space::Lock;

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    super::common::lock(call, Lock::Full)
}
