// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigpending(2)`: the blocked signals that have arrived for the calling thread or its process.
//!
//! Honoured: sets shorter than 8 bytes.
//!
//! Refused: longer ones (`EINVAL`).

use zerocopy::IntoBytes;

use crate::call::Call;
use crate::memory;
use crate::signal::mask::SET_BYTES;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, size) = (call.arg(0), call.arg(1));
    if size > SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let signals = &call.task.signals;
    let pending = signals.pending().union(call.process.signals.pending()).intersection(signals.mask());
    memory::write_bytes(address, &pending.as_bytes()[..size])?;
    Ok(0)
}
