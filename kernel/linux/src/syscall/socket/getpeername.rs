// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `getpeername(2)`: tells the address of a socket's other end.
//!
//! Honoured: all of it; an end without a name has the family alone.
//!
//! Refused: sockets without another end (`ENOTCONN`).

use super::address;
use crate::Result;
use crate::call::Call;
use crate::socket::{Kind, Socket};
use crate::strace::signature;

signature!(Int, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    let name = if socket.kind == Kind::Notices { None } else { socket.peer_name()? };
    address::write(&address::bytes(socket.kind, name.as_deref()), call.arg(1), call.arg(2))?;
    Ok(0)
}
