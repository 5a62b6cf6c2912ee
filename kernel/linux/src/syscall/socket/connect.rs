// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `connect(2)`: connects a socket.
//!
//! Honoured: nothing.
//!
//! Refused: what is no address of `AF_UNIX` (`EINVAL`); sockets are connected already (`EISCONN`), and nobody listens (`ECONNREFUSED` for datagrams).

use super::address;
use crate::call::Call;
use crate::strace::signature;
use crate::socket::{Kind, Socket};
use crate::{Errno, Result, memory};

/// Lengths of an address of `AF_UNIX`.
const LENGTHS: core::ops::RangeInclusive<i32> = 3..=110;

signature!(Int, Address, Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    // An address has a family and something behind it.
    if !LENGTHS.contains(&call.int(2)) || memory::read::<u16>(call.arg(1))? != address::UNIX {
        return Err(Errno::EINVAL);
    }
    match socket.kind {
        Kind::Datagram => Err(Errno::ECONNREFUSED),
        Kind::Stream | Kind::Packets => Err(Errno::EISCONN),
        Kind::Notices => Err(Errno::EOPNOTSUPP),
    }
}
