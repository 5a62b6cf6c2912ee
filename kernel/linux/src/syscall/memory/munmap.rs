// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `munmap(2)`: removes all mappings of a range.
//!
//! Honoured: any page range of the window, with holes or across mappings, from address 0 on.
//!
//! Refused: nothing.

use hadal_mem::space::{WINDOW_END, WINDOW_START};

use super::common::{page_aligned, pages};
use super::errno;
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = page_aligned(call.arg(0))?;
    let len = pages(call.arg(1)).map_err(|_| Errno::EINVAL)?;
    if len == 0 {
        return Err(Errno::EINVAL);
    }
    let end = address.checked_add(len).filter(|&end| end <= WINDOW_END).ok_or(Errno::EINVAL)?;
    // Nothing is ever mapped below.
    let start = address.max(WINDOW_START);
    if start < end {
        call.process.space().unmap(start, end - start).map_err(errno)?;
    }
    Ok(0)
}
