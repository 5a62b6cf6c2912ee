// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `dup(2)`: gives an open file one more descriptor.
//!
//! Honoured: all of it; the lowest free number is used.
//!
//! Refused: nothing.

use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    call.process.files().dup(call.int(0), 0, false).map(|fd| fd as usize)
}
