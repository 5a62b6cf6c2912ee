// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `setgroups(2)`: changes the supplementary groups.
//!
//! Honoured: nothing.
//!
//! Refused: every list (`EPERM`).

use crate::call::Call;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address);

pub(super) fn call(_: &mut Call<'_>) -> Result<usize> {
    Err(Errno::EPERM)
}
