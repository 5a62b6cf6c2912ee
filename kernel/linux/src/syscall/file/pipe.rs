// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `pipe(2)`: makes a pipe.
//!
//! Honoured: all of it.
//!
//! Refused: nothing.

use super::pipe2;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Pair);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    pipe2::make(call, 0)
}
