// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mincore(2)`: which pages are in memory. Every mapped page counts as being there, because none is ever swapped out.
//!
//! Honoured: any range of mappings.
//!
//! Refused: nothing.

use hadal_mem::space::PAGE_SIZE;

use super::common::{page_aligned, pages};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Address, Size, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (address, len) = (page_aligned(call.arg(0))?, pages(call.arg(1))?);
    for page in 0..len / PAGE_SIZE {
        let at = address.checked_add(page * PAGE_SIZE).ok_or(Errno::ENOMEM)?;
        if call.process.space().find(at).is_none() {
            return Err(Errno::ENOMEM);
        }
        memory::write_bytes(call.arg(2).wrapping_add(page), &[1])?;
    }
    Ok(0)
}
