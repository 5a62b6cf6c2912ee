// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that several memory calls share.

use hadal_mem::space::{PAGE_SIZE, Prot};

use crate::call::Call;
use crate::{Errno, Result};

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

/// Whether the range of a call's first two arguments is mapped, as the locking calls demand.
pub(super) fn mapped_range(call: &Call<'_>) -> Result<usize> {
    let start = call.arg(0) & !(PAGE_SIZE - 1);
    let end = call.arg(0).checked_add(call.arg(1)).ok_or(Errno::EINVAL)?;
    let mut at = start;
    while at < end {
        let vma = call.process.space.find(at).ok_or(Errno::ENOMEM)?;
        at = vma.end;
    }
    Ok(0)
}
