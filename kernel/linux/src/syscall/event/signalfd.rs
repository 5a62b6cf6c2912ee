// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `signalfd(2)`: makes a file from which signals are read.
//!
//! Honoured: as `signalfd4` without flags.
//!
//! Refused: as `signalfd4`.

use super::signalfd4;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    signalfd4::make(call, 0)
}
