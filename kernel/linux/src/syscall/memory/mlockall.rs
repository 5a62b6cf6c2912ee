// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlockall(2)`: locks all memory, and fills it.
//!
//! Honoured: `MCL_CURRENT`, `MCL_FUTURE`, `MCL_ONFAULT`; `RLIMIT_MEMLOCK` as `mlock`. The first stack, which is mapped whole, counts only
//! where `mlock` names it; a mapping that would take more than three quarters of the free memory is filled when it is touched.
//!
//! Refused: no flag, or unknown ones (`EINVAL`).

use hadal_mem::space::{Lock, WINDOW_END, WINDOW_START};
use linux_raw_sys::general::{MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT};

use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, locking};

signature!(Flags(&flags::MLOCK));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(0);
    if flags == 0 || flags & !(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0 || flags == MCL_ONFAULT {
        return Err(Errno::EINVAL);
    }
    locking::check(call.process)?;
    let lock = if flags & MCL_ONFAULT == 0 { Lock::Full } else { Lock::OnFault };
    let current = (flags & MCL_CURRENT != 0).then_some(Some(lock));
    let future = (flags & MCL_FUTURE != 0).then_some(lock);
    call.process.space().lock_all(current, future, locking::limit(call.process)).map_err(errno)?;
    if current.is_some() {
        locking::fill(call.process, WINDOW_START, WINDOW_END - WINDOW_START);
    }
    Ok(0)
}
