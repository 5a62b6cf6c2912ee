// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpriority(2)`: the nice value, which is 0; the call returns 20 minus that.
//!
//! Honoured: PRIO_PROCESS, PRIO_PGRP, PRIO_USER for the caller's own.
//!
//! Refused: unknown kinds (EINVAL).

use crate::call::Call;
use crate::{Errno, Result};

const PRIO_USER: u32 = 2;
const NICE_ZERO: usize = 20;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(0) > PRIO_USER { Err(Errno::EINVAL) } else { Ok(NICE_ZERO) }
}
