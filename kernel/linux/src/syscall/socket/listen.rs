// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `listen(2)`: makes a socket wait for connections.
//!
//! Honoured: nothing.
//!
//! Refused: sockets have no addresses to listen at (`EINVAL`; datagrams: `EOPNOTSUPP`).

use super::accept4;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;

signature!(Int, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    accept4::accept(call)
}
