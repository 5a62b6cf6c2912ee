// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socket(2)`: makes a socket that is not connected.
//!
//! Honoured: `AF_NETLINK` with `SOCK_RAW` and protocol 0, `SOCK_NONBLOCK`, `SOCK_CLOEXEC`: a socket that hears of messages in queues
//! (`mq_notify`), and which nothing can be sent by.
//!
//! Refused: other types (`ESOCKTNOSUPPORT`) and protocols (`EPROTONOSUPPORT`) of `AF_NETLINK`; every other domain
//! (`EAFNOSUPPORT`): there is no network, and sockets come in pairs (`socketpair`).

use core::sync::atomic::{AtomicBool, Ordering};

use hadal_hal::memory::fallible;
use hadal_vfs::{FileKind, OpenFlags};

use super::address::{NETLINK, UNIX};
use crate::call::Call;
use crate::strace::signature;
use crate::socket::{Kind, Socket};
use crate::files::anonymous::{self, Label};
use crate::{Errno, Result};

/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`, which are the flags of `open`.
const FLAGS: OpenFlags = OpenFlags::NONBLOCK.union(OpenFlags::CLOSE_ON_EXEC);
/// Domain and type of the socket by which glibc asks nscd for names of users and groups; without it, it reads the files.
const NAME_SERVICE: (u32, u32) =
    (UNIX as u32, Kind::Stream as u32 | OpenFlags::NONBLOCK.bits() | OpenFlags::CLOSE_ON_EXEC.bits());
const RAW: u32 = Kind::Notices as u32;

signature!(Int, Hex, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    if call.uint(0) != u32::from(NETLINK) {
        return refuse(call);
    }
    match (call.uint(1) & !FLAGS.bits(), call.uint(2)) {
        (RAW, 0) => {}
        (RAW, _) => return Err(Errno::EPROTONOSUPPORT),
        _ => return Err(Errno::ESOCKTNOSUPPORT),
    }
    let flags = OpenFlags::from_bits_retain(call.uint(1)) & FLAGS;
    let status = OpenFlags::READ_WRITE | (flags & OpenFlags::NONBLOCK);
    fallible::admit(fallible::SMALL_BYTES)?;
    let socket = fallible::arc(Socket::for_notices())?;
    let mode = FileKind::Socket.mode_bits() | 0o777;
    let file = anonymous::open(&call.process.caller(), socket, mode, Label::Numbered("socket"), status)?;
    call.process.files().insert(file, flags.contains(OpenFlags::CLOSE_ON_EXEC)).map(|fd| fd as usize)
}

fn refuse(call: &Call<'_>) -> Result<usize> {
    static SAID: AtomicBool = AtomicBool::new(false);
    if (call.uint(0), call.uint(1)) != NAME_SERVICE {
        call.process.refused.note_socket(call.uint(0));
    }
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "{}: there is no network: socket() of domain {} is EAFNOSUPPORT",
            call.process.program().executable.escape_ascii(),
            call.int(0)
        );
    }
    Err(Errno::EAFNOSUPPORT)
}
