// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sethostname(2)`: changes the machine's name, which the command line of Hadal gives it.
//!
//! Honoured: nothing.
//!
//! Refused: every name (`EPERM`).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Input(1), Size);

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Err(Errno::EPERM)
}
