// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `accept4(2)`: takes a connection.
//!
//! Honoured: `SOCK_NONBLOCK`, `SOCK_CLOEXEC`; the address of the other end.
//!
//! Refused: sockets that do not listen (`EINVAL`), datagrams (`EOPNOTSUPP`).

use hadal_vfs::OpenFlags;

use super::{address, opening};
use crate::call::Call;
use crate::files::at;
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Errno, Result};

signature!(Int, Address, Address, Hex);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    at::check_flags(call.uint(3), opening::FLAGS.bits())?;
    accept(call, opening::flags(call.uint(3)))
}

/// What both calls do.
pub(super) fn accept(call: &Call<'_>, flags: OpenFlags) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    // A connection that is taken needs a descriptor.
    let descriptors = call.process.files();
    let reserved = descriptors.reserve()?;
    let connection =
        socket.accept(file.blocking()).map_err(|error: Errno| socket.receive_error(call, error))?;
    if call.arg(1) != 0 {
        let name = connection.peer_name()?;
        address::write(&address::bytes(connection.kind, name.as_deref()), call.arg(1), call.arg(2))?;
    }
    let file = opening::open(call.process, connection, flags)?;
    Ok(reserved.fill(file, flags.contains(OpenFlags::CLOSE_ON_EXEC)) as usize)
}
