// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `munmap(2)`: removes all mappings of a range.
//!
//! Honoured: any page range, with holes or across mappings.
//!
//! Refused: nothing.

use super::common::{page_aligned, pages};
use super::errno;
use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let address = page_aligned(call.arg(0))?;
    let len = pages(call.arg(1)).map_err(|_| Errno::EINVAL)?;
    if len == 0 {
        return Err(Errno::EINVAL);
    }
    call.process.space.unmap(address, len).map_err(errno)?;
    Ok(0)
}
