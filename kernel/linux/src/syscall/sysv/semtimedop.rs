// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `semtimedop(2)`: as `semop`, and waits for some time only.
//!
//! Honoured: all that `semop` has; `EAGAIN` when the time is over.
//!
//! Refused: nothing.

use super::operations;
use crate::call::Call;
use crate::clock::{self, Timespec};
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Address, Size, Time);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let time = match call.arg(3) {
        0 => None,
        address => Some(memory::read::<Timespec>(address)?),
    };
    let deadline_ns = time.map(|time| time.to_ns().map(|ns| clock::deadline(clock::after(ns))));
    operations::carry_out(call, deadline_ns)
}
