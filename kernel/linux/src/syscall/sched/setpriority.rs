// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setpriority(2)`: sets the nice value.
//!
//! Honoured: 0 and above for the caller's own: accepted as a wish without effect, since one program has the machine.
//!
//! Refused: negative values (EACCES, as for a program without privileges), unknown kinds (EINVAL).

use crate::call::Call;
use crate::{Errno, Result};

const PRIO_USER: u32 = 2;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(0) > PRIO_USER {
        return Err(Errno::EINVAL);
    }
    if call.int(2) < 0 { Err(Errno::EACCES) } else { Ok(0) }
}
