// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlock2(2)`: as mlock(2).
//!
//! Honoured: MLOCK_ONFAULT (it makes no difference).
//!
//! Refused: unknown flags (EINVAL).

use linux_raw_sys::general::MLOCK_ONFAULT;

use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(2) & !MLOCK_ONFAULT != 0 {
        return Err(Errno::EINVAL);
    }
    super::common::mapped_range(call)
}
