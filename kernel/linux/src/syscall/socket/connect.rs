// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `connect(2)`: connects a socket.
//!
//! Honoured: addresses of `AF_UNIX`, paths and abstract ones, where a socket of the machine has that name; `AF_UNSPEC` for datagrams.
//!
//! Refused: other addresses (`EINVAL`), sockets of the host (`ECONNREFUSED`), sockets of `AF_NETLINK` (`EOPNOTSUPP`).

use super::address::{self, Given, UNSPECIFIED};
use crate::call::Call;
use crate::socket::{Ids, Kind, Socket};
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, SocketAddress(2), Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    let given = Given::read(call.arg(1), call.int(2))?;
    match socket.kind {
        Kind::Notices => return Err(Errno::EOPNOTSUPP),
        Kind::Datagram if given.family() == Some(UNSPECIFIED) => socket.disconnect(),
        _ => {
            let address = given.find(call.process)?;
            let connected = socket.connect(&address, Ids::acting(call.process), file.blocking());
            connected.map_err(|error| socket.send_error(call, error))?;
        }
    }
    Ok(0)
}
