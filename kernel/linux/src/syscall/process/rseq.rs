// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rseq(2)`: registers the area through which a thread knows its CPU and has critical sections restarted.
//!
//! Honoured: registering, unregistering (RSEQ_FLAG_UNREGISTER).
//!
//! Refused: a second registration with another area (EINVAL) or the same one (EBUSY), unknown flags (EINVAL).

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Address, Size, Hex, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    crate::rseq::register(call.task, call.arg(0), call.arg(1), call.uint(2), call.uint(3)).map(|()| 0)
}
