// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpriority(2)`: the nice value, which is 0; the call returns 20 minus that.
//!
//! Honoured: PRIO_PROCESS, PRIO_PGRP, PRIO_USER.
//!
//! Refused: processes, groups and users that are not there (ESRCH), unknown kinds (EINVAL).

use super::target;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

const NICE_ZERO: usize = 20;

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target::find_nice(call).map(|_| NICE_ZERO)
}
