// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `syslog(2)`: the kernel's log, which goes to the person who started the program and not to the program.
//!
//! Honoured: nothing.
//!
//! Refused: every action (`EPERM`).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Int);

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Err(Errno::EPERM)
}
