// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpeername(2)`: tells the address of a socket's other end.
//!
//! Honoured: all of it; it is the empty address of a pair.
//!
//! Refused: nothing.

use super::getsockname;
use crate::Result;
use crate::call::Call;

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    getsockname::call(call)
}
