// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `set_tid_address(2)`: where 0 is written, and a waiter woken, when the thread ends.
//!
//! Honoured: any address; 0 for nowhere.
//!
//! Refused: nothing.

use core::sync::atomic::Ordering;

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.task.clear_child_tid.store(call.arg(0), Ordering::Relaxed);
    Ok(call.task.tid() as usize)
}
