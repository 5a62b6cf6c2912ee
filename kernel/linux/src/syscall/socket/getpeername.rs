// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpeername(2)`: tells the address of a socket's other end.
//!
//! Honoured: all of it; it is the empty address of a pair.
//!
//! Refused: nothing; when a datagram has been refused since the other end is gone there is none (`ENOTCONN`).

use super::{address, getsockname};
use crate::call::Call;
use crate::strace::signature;
use crate::socket::Socket;
use crate::{Errno, Result};

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if Socket::of(&*address::file(call, 0)?)?.is_disconnected() {
        return Err(Errno::ENOTCONN);
    }
    getsockname::call(call)
}
