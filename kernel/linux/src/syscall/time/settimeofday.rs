// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `settimeofday(2)`: sets the wall clock, which no program may.
//!
//! Honoured: nothing.
//!
//! Refused: everything (`EPERM`).

use crate::call::Call;
use crate::clock::Timeval;
use crate::strace::signature;
use crate::{Errno, Result, memory};

signature!(Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.arg(0) != 0 {
        memory::read::<Timeval>(call.arg(0))?.to_ns()?;
    }
    Err(Errno::EPERM)
}
