// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of sockets: what `socket`, `socketpair` and `accept` have in common.

use alloc::sync::Arc;

use hadal_hal::memory::fallible;
use hadal_vfs::{FileKind, OpenFile, OpenFlags};

use crate::files::anonymous::{self, Label};
use crate::process::Process;
use crate::socket::{Kind, Socket};
use crate::{Errno, Result};

/// The highest type that Linux has (`SOCK_PACKET`).
const LAST_TYPE: u32 = 10;
/// `PF_UNIX`, which is its only protocol besides 0.
const PROTOCOL: u32 = 1;

/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`, which are the flags of `open`.
pub(super) const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);

/// The kind that a type of `AF_UNIX` is, without its flags.
pub(super) fn kind(socket_type: u32, protocol: u32) -> Result<Kind> {
    let kind = match socket_type & !FLAGS.bits() {
        1 => Kind::Stream,
        // A raw socket is one for datagrams.
        2 | 3 => Kind::Datagram,
        5 => Kind::Packets,
        0..=LAST_TYPE => return Err(Errno::ESOCKTNOSUPPORT),
        _ => return Err(Errno::EINVAL),
    };
    if matches!(protocol, 0 | PROTOCOL) { Ok(kind) } else { Err(Errno::EPROTONOSUPPORT) }
}

/// The flags of a type.
pub(super) fn flags(socket_type: u32) -> OpenFlags {
    OpenFlags::from_bits_retain(socket_type) & FLAGS
}

/// Makes a socket's file.
pub(super) fn open(process: &Process, socket: Socket, flags: OpenFlags) -> Result<Arc<OpenFile>> {
    let mode = FileKind::Socket.mode_bits() | 0o777;
    let status = OpenFlags::READ_WRITE | (flags & OpenFlags::NONBLOCK);
    anonymous::open(&process.caller(), fallible::arc(socket)?, mode, Label::Numbered("socket"), status)
}
