// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `set_robust_list(2)`: the list of locks that the thread holds, for when it ends.
//!
//! Honoured: the head's address.
//!
//! Refused: a length other than 24 (EINVAL).

use core::sync::atomic::Ordering;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

/// Bytes of `struct robust_list_head`.
pub(super) const HEAD_LEN: usize = 24;

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.arg(1) != HEAD_LEN {
        return Err(Errno::EINVAL);
    }
    call.task.robust_list.store(call.arg(0), Ordering::Relaxed);
    Ok(0)
}
