// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlock2(2)`: as `mlock`.
//!
//! Honoured: `MLOCK_ONFAULT`: pages are filled when they are touched.
//!
//! Refused: unknown flags (`EINVAL`).

use hadal_mem::space::Lock;
use linux_raw_sys::general::MLOCK_ONFAULT;

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Address, Size, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let lock = match call.uint(2) {
        0 => Lock::Full,
        MLOCK_ONFAULT => Lock::OnFault,
        _ => return Err(Errno::EINVAL),
    };
    super::common::lock(call, lock)
}
