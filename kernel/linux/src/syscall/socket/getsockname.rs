// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsockname(2)`: tells the address of a socket.
//!
//! Honoured: all of it; it is the empty address of a pair.
//!
//! Refused: nothing.

use super::address;
use crate::Result;
use crate::call::Call;
use crate::strace::signature;
use crate::socket::Socket;

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    address::write(Socket::of(&file)?, call.arg(1), call.arg(2))?;
    Ok(0)
}
