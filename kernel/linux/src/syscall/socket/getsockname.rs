// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getsockname(2)`: tells the address of a socket.
//!
//! Honoured: all of it; without a name it is the family alone.
//!
//! Refused: nothing.

use super::address;
use crate::Result;
use crate::call::Call;
use crate::socket::Socket;
use crate::strace::signature;

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    address::write(&address::bytes(socket.kind, socket.name()), call.arg(1), call.arg(2))?;
    Ok(0)
}
