// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `capget(2)`: the capabilities of a thread, of which it has none.
//!
//! Honoured: all three versions of the interface; an unknown one is answered with the newest, as on Linux.
//!
//! Refused: other processes (`ESRCH`), unknown versions (`EINVAL`).

use super::capabilities::{self, Header};
use crate::call::Call;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let data = call.arg(1);
    let header: Header = memory::read(call.arg(0))?;
    let words = match capabilities::words_of(call, &header) {
        Ok(words) => words,
        // Programs ask for the version in this way.
        Err(crate::Errno::EINVAL) if data == 0 => return Ok(0),
        Err(error) => return Err(error),
    };
    if data != 0 {
        for word in 0..words {
            memory::write(data.wrapping_add(4 * word), &0u32)?;
        }
    }
    Ok(0)
}
