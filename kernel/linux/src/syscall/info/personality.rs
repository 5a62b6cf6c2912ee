// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `personality(2)`: the execution domain, which is Linux's with addresses that are not randomised.
//!
//! Honoured: the query (0xffffffff), and setting what is in force: `ADDR_NO_RANDOMIZE`.
//!
//! Refused: any other domain or flag (`EINVAL`).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

/// Asks without changing anything.
const QUERY: u32 = 0xffff_ffff;
/// `ADDR_NO_RANDOMIZE`.
const CURRENT: u32 = 0x0004_0000;

signature!(Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    match call.uint(0) {
        QUERY | CURRENT => Ok(CURRENT as usize),
        _ => Err(Errno::EINVAL),
    }
}
