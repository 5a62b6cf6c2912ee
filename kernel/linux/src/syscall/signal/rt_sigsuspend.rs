// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigsuspend(2)`: waits for a signal handler with another set of blocked signals.
//!
//! Honoured: everything.
//!
//! Refused: set sizes other than 8 (`EINVAL`).

use super::pause;
use crate::call::Call;
use crate::signal::mask;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let set = mask::read(call.arg(0), call.arg(1))?.ok_or(Errno::EFAULT)?;
    mask::during(call, Some(set), |call| {
        pause::wait(call);
        Err(Errno::EINTR)
    })
}
