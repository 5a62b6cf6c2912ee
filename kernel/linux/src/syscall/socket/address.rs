// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Addresses of sockets. Those that there are have none: `AF_UNIX` and nothing behind it, or `AF_NETLINK` and zeros.

use alloc::sync::Arc;

use hadal_vfs::OpenFile;

use crate::call::Call;
use crate::socket::{Kind, Socket};
use crate::{Errno, Result, memory};

/// `AF_UNIX`.
pub(super) const UNIX: u16 = 1;
/// `AF_NETLINK`.
pub(super) const NETLINK: u16 = 16;

/// Bytes of the longest address.
const MOST_BYTES: usize = 12;

/// The family of a socket.
pub(super) fn family(socket: &Socket) -> u16 {
    if socket.kind == Kind::Notices { NETLINK } else { UNIX }
}

/// The file behind a descriptor argument.
pub(super) fn file(call: &Call<'_>, index: usize) -> Result<Arc<OpenFile>> {
    call.process.files().get(call.int(index))
}

/// Stores the empty address, cut off at the length that is found at `len_address`, and its length there.
pub(super) fn write(socket: &Socket, address: usize, len_address: usize) -> Result<()> {
    let room: i32 = memory::read(len_address)?;
    let room = usize::try_from(room).map_err(|_| Errno::EINVAL)?;
    let mut bytes = [0; MOST_BYTES];
    let family = family(socket).to_ne_bytes();
    bytes[..family.len()].copy_from_slice(&family);
    let bytes = if socket.kind == Kind::Notices { &bytes[..] } else { &bytes[..family.len()] };
    memory::write_bytes(address, &bytes[..room.min(bytes.len())])?;
    memory::write(len_address, &(bytes.len() as i32))
}
