// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `msync(2)`: writes shared mappings back.
//!
//! Honoured: MS_SYNC, MS_ASYNC, MS_INVALIDATE (EBUSY for locked memory).
//!
//! Refused: unknown flags, MS_SYNC together with MS_ASYNC (EINVAL).

use linux_raw_sys::general::{MS_ASYNC, MS_INVALIDATE, MS_SYNC};

use super::common::{page_aligned, pages};
use super::errno;
use crate::call::Call;
use crate::files::mapped::sync_range;
use crate::strace::signature;
use crate::{Errno, Result, locking};

signature!(Address, Size, Flags(&flags::MSYNC));

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(2);
    let both = MS_SYNC | MS_ASYNC;
    if flags & !(both | MS_INVALIDATE) != 0 || flags & both == both {
        return Err(Errno::EINVAL);
    }
    let (address, len) = (page_aligned(call.arg(0))?, pages(call.arg(1))?);
    if flags & MS_INVALIDATE != 0 && locking::has_locked(call.process, address, len) {
        return Err(Errno::EBUSY);
    }
    if len > 0 {
        sync_range(call.process, address, len).map_err(errno)?;
    }
    Ok(0)
}
