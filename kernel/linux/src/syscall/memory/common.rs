// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that several memory calls share.

use hadal_mem::space::{Lock, PAGE_SIZE, Prot};

use super::errno;
use crate::call::Call;
use crate::{Errno, Result, locking};

/// Decodes protection bits; unknown ones are `EINVAL` as on Linux.
pub(super) fn prot(bits: u32) -> Result<Prot> {
    const PROT_SEM: u32 = 8;
    let known = Prot::all().bits();
    let bits = bits & !PROT_SEM;
    if bits & !u32::from(known) != 0 {
        return Err(Errno::EINVAL);
    }
    Ok(Prot::from_bits_truncate(bits as u8))
}

/// Rounds a length up to whole pages; 0 stays 0, and one that overflows is `ENOMEM`.
pub(super) fn pages(len: usize) -> Result<usize> {
    len.checked_next_multiple_of(PAGE_SIZE).ok_or(Errno::ENOMEM)
}

/// Refuses an address that is not at a page.
pub(super) fn page_aligned(address: usize) -> Result<usize> {
    if address.is_multiple_of(PAGE_SIZE) { Ok(address) } else { Err(Errno::EINVAL) }
}

/// The whole pages of the range of a call's first two arguments, as the locking calls take it: on Linux, too, a length that
/// overflows to nothing is nothing.
fn locked_range(call: &Call<'_>) -> Result<(usize, usize)> {
    let start = call.arg(0) & !(PAGE_SIZE - 1);
    let len =
        call.arg(1).wrapping_add(call.arg(0) % PAGE_SIZE).wrapping_add(PAGE_SIZE - 1) & !(PAGE_SIZE - 1);
    Ok((start, start.checked_add(len).ok_or(Errno::EINVAL)?))
}

/// `mlock` and `mlock2`.
pub(super) fn lock(call: &Call<'_>, lock: Lock) -> Result<usize> {
    locking::check(call.process)?;
    let (start, end) = locked_range(call)?;
    if start < end {
        let limit = locking::limit(call.process);
        call.process.space().lock(start, end, Some(lock), limit).map_err(errno)?;
        locking::fill_named(call.process, start, end)?;
    }
    Ok(0)
}

/// `munlock`.
pub(super) fn unlock(call: &Call<'_>) -> Result<usize> {
    let (start, end) = locked_range(call)?;
    if start < end {
        call.process.space().lock(start, end, None, None).map_err(errno)?;
    }
    Ok(0)
}
