// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mremap(2)`: resizes or moves a mapping.
//!
//! Honoured: shrinking, growing in place, MREMAP_MAYMOVE, MREMAP_FIXED. More of locked memory is locked, too (EAGAIN beyond
//! RLIMIT_MEMLOCK). ENOMEM beyond RLIMIT_AS or RLIMIT_DATA.
//!
//! Refused: MREMAP_DONTUNMAP (EINVAL).

use hadal_mem::space::{RemapMode, RemapRequest};
use linux_raw_sys::general::{MREMAP_FIXED, MREMAP_MAYMOVE};

use super::common::{page_aligned, pages};
use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, locking};

signature!(Address, Size, Size, Flags(&flags::MREMAP), Address => Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(3);
    if flags & !(MREMAP_MAYMOVE | MREMAP_FIXED) != 0
        || flags & (MREMAP_FIXED | MREMAP_MAYMOVE) == MREMAP_FIXED
    {
        return Err(Errno::EINVAL);
    }
    let mode = if flags & MREMAP_FIXED != 0 {
        RemapMode::Fixed(page_aligned(call.arg(4))?)
    } else if flags & MREMAP_MAYMOVE != 0 {
        RemapMode::MayMove
    } else {
        RemapMode::InPlace
    };
    let request = RemapRequest {
        old: page_aligned(call.arg(0))?,
        old_len: pages(call.arg(1))?,
        new_len: pages(call.arg(2))?,
        mode,
        limits: locking::limits(call.process),
    };
    if request.new_len == 0 {
        return Err(Errno::EINVAL);
    }
    let moved = call.process.space().remap(request).map_err(errno)?;
    if request.new_len > request.old_len {
        locking::fill(call.process, moved + request.old_len, request.new_len - request.old_len);
    }
    Ok(moved)
}
