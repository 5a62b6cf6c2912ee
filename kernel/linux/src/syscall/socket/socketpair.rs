// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socketpair(2)`: makes two connected sockets.
//!
//! Honoured: `AF_UNIX` with `SOCK_STREAM`, `SOCK_DGRAM` (and `SOCK_RAW`, which is the same) and `SOCK_SEQPACKET`; `SOCK_NONBLOCK`,
//! `SOCK_CLOEXEC`.
//!
//! Refused: every other domain (`EAFNOSUPPORT`), type (`ESOCKTNOSUPPORT`) and protocol (`EPROTONOSUPPORT`).

use hadal_hal::memory::fallible;
use hadal_vfs::{FileKind, OpenFlags};

use super::address::UNIX;
use crate::call::Call;
use crate::strace::signature;
use crate::socket::{Kind, Socket};
use crate::files::anonymous::{self, Label};
use crate::{Errno, Result, memory};

/// The highest type that Linux has (`SOCK_PACKET`).
const LAST_TYPE: u32 = 10;
/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`, which are the flags of `open`.
const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);

signature!(Int, Hex, Int, Pair);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = OpenFlags::from_bits_retain(call.uint(1)) & FLAGS;
    if call.uint(0) != u32::from(UNIX) {
        return Err(Errno::EAFNOSUPPORT);
    }
    let kind = match call.uint(1) & !FLAGS.bits() {
        1 => Kind::Stream,
        // A raw socket is one for datagrams.
        2 | 3 => Kind::Datagram,
        5 => Kind::Packets,
        0..=LAST_TYPE => return Err(Errno::ESOCKTNOSUPPORT),
        _ => return Err(Errno::EINVAL),
    };
    if !matches!(call.uint(2), 0 | 1) {
        return Err(Errno::EPROTONOSUPPORT);
    }
    let caller = call.process.caller();
    let mode = FileKind::Socket.mode_bits() | 0o777;
    let open = |end: Socket| -> Result<_> {
        let status = OpenFlags::READ_WRITE | (flags & OpenFlags::NONBLOCK);
        anonymous::open(&caller, fallible::arc(end)?, mode, Label::Numbered("socket"), status)
    };
    fallible::admit(fallible::SMALL_BYTES)?;
    let (first, second) = Socket::pair(kind);
    let on_exec = flags.contains(OpenFlags::CLOSE_ON_EXEC);
    let (first, second) = call.process.files().insert_pair(open(first)?, open(second)?, on_exec)?;
    if let Err(error) = memory::write(call.arg(3), &[first, second]) {
        drop((call.process.files().remove(first), call.process.files().remove(second)));
        return Err(error);
    }
    Ok(0)
}
