// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `capset(2)`: changes the capabilities of the calling thread, of which it has none.
//!
//! Honoured: the empty sets.
//!
//! Refused: any capability (`EPERM`), other processes (`EPERM`), unknown versions (`EINVAL`).

use super::capabilities::{self, Header};
use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let header: Header = memory::read(call.arg(0))?;
    let words = match capabilities::words_of(call, &header) {
        Err(Errno::ESRCH) => return Err(Errno::EPERM),
        words => words?,
    };
    let mut wanted = memory::ProgramArray::<u32, 8>::new();
    wanted.read(call.arg(1), words)?;
    if wanted.iter().all(|&word| word == 0) { Ok(0) } else { Err(Errno::EPERM) }
}
