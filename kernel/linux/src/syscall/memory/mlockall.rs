// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `mlockall(2)`: memory is never swapped out, so everything is locked by construction.
//!
//! Honoured: MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT.
//!
//! Refused: no flag, or unknown ones (EINVAL).

use linux_raw_sys::general::{MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT};

use crate::call::Call;
use crate::{Errno, Result};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = call.uint(0);
    if flags == 0 || flags & !(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0 || flags == MCL_ONFAULT {
        return Err(Errno::EINVAL);
    }
    Ok(0)
}
