// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsid(2)`: the session of a process, which the process leads itself.
//!
//! Honoured: 0 and the process's own id.
//!
//! Refused: processes that are not there (`ESRCH`).

use crate::Result;
use crate::call::Call;
use crate::first::{self, Named};

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let (wanted, own) = (call.int(0), call.process.pid() as usize);
    match wanted {
        0 => Ok(own),
        _ => first::named(call.process, wanted).map(|named| match named {
            Named::Own => own,
            Named::First => first::PID as usize,
        }),
    }
}
