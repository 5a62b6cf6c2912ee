// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `wait4(2)`: waits for a child. There are none, because no call makes one.
//!
//! Honoured: the call.
//!
//! Refused: everything: ECHILD.

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Flags(&flags::WAIT), Address);

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Err(Errno::ECHILD)
}
