// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigprocmask(2)`: changes what the calling thread blocks.
//!
//! Honoured: `SIG_BLOCK`, `SIG_UNBLOCK`, `SIG_SETMASK`.
//!
//! Refused: other operations and set sizes other than 8 (`EINVAL`).

use hadal_hal::memory::user;
use linux_raw_sys::general::{SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK};

use crate::call::Call;
use crate::memory;
use crate::signal::{SigSet, mask};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Choice(flags::MASK_HOW), Address, Address, Size);

#[inline]
pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    // What C libraries do around much that they do: it takes no call of a function, and so no register to save.
    if call.arg(2) == 0
        && call.arg(3) == mask::SET_BYTES
        && let Ok(set) = user::load_ordinary_u64(call.arg(1))
    {
        return change(call, call.task.signals.mask(), SigSet::from_bits(set));
    }
    read_and_change(call)
}

/// With sets anywhere, or none.
#[inline(never)]
fn read_and_change(call: &Call<'_>) -> Result<usize> {
    let (new, old, size) = (call.arg(1), call.arg(2), call.arg(3));
    if size != mask::SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let current = call.task.signals.mask();
    if let Some(set) = mask::read(new, size)? {
        change(call, current, set)?;
    }
    memory::write_unless_null(old, &current)?;
    Ok(0)
}

#[inline(always)]
fn change(call: &Call<'_>, current: SigSet, set: SigSet) -> Result<usize> {
    let changed = match call.uint(0) {
        SIG_BLOCK => current.union(set),
        SIG_UNBLOCK => current.minus(set),
        SIG_SETMASK => set,
        _ => return Err(Errno::EINVAL),
    };
    mask::replace(call.task, call.process, current, changed);
    Ok(0)
}
