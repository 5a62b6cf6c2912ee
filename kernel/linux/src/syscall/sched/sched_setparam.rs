// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sched_setparam(2)`: sets the real-time priority of a thread.
//!
//! Honoured: 0, the only one of SCHED_OTHER.
//!
//! Refused: others (EINVAL).

use super::target::target;
use crate::call::Call;
use crate::{Errno, Result, memory};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    target(call)?;
    match memory::read::<i32>(call.arg(1))? {
        0 => Ok(0),
        _ => Err(Errno::EINVAL),
    }
}
