// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `rt_sigprocmask(2)`: changes what the calling thread blocks.
//!
//! Honoured: `SIG_BLOCK`, `SIG_UNBLOCK`, `SIG_SETMASK`.
//!
//! Refused: other operations and set sizes other than 8 (`EINVAL`).

use linux_raw_sys::general::{SIG_BLOCK, SIG_SETMASK, SIG_UNBLOCK};

use crate::call::Call;
use crate::strace::signature;
use crate::memory;
use crate::signal::mask;
use crate::{Errno, Result};

signature!(Choice(flags::MASK_HOW), Address, Address, Size);

#[inline]
pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (how, new, old, size) = (call.uint(0), call.arg(1), call.arg(2), call.arg(3));
    if size != mask::SET_BYTES {
        return Err(Errno::EINVAL);
    }
    let current = call.task.signals.mask();
    if let Some(set) = mask::read(new, size)? {
        let set = set.blockable();
        let changed = match how {
            SIG_BLOCK => current.union(set),
            SIG_UNBLOCK => current.minus(set),
            SIG_SETMASK => set,
            _ => return Err(Errno::EINVAL),
        };
        mask::set(call.task, call.process, changed);
    }
    memory::write_unless_null(old, &current)?;
    Ok(0)
}
