// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `socket(2)`: makes a socket that is not connected.
//!
//! Honoured: `AF_UNIX` with `SOCK_STREAM`, `SOCK_DGRAM` (and `SOCK_RAW`, which is the same) and `SOCK_SEQPACKET`, between programs of
//! the machine; `AF_NETLINK` with `SOCK_RAW` and protocol 0: a socket that hears of messages in queues (`mq_notify`), and which
//! nothing can be sent by; `SOCK_NONBLOCK`, `SOCK_CLOEXEC`.
//!
//! Refused: other types (`ESOCKTNOSUPPORT`) and protocols (`EPROTONOSUPPORT`); every other domain (`EAFNOSUPPORT`): there is no
//! network.

use core::sync::atomic::{AtomicBool, Ordering};

use hadal_vfs::OpenFlags;

use super::address::{NETLINK, UNIX};
use super::opening;
use crate::call::Call;
use crate::socket::{Kind, Socket};
use crate::strace::signature;
use crate::{Errno, Result};

const RAW: u32 = Kind::Notices as u32;

signature!(Int, Hex, Int);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let flags = opening::flags(call.uint(1));
    let socket = match u16::try_from(call.uint(0)) {
        Ok(UNIX) => Socket::new(opening::kind(call.uint(1), call.uint(2))?)?,
        Ok(NETLINK) => match (call.uint(1) & !opening::FLAGS.bits(), call.uint(2)) {
            (RAW, 0) => Socket::for_notices()?,
            (RAW, _) => return Err(Errno::EPROTONOSUPPORT),
            _ => return Err(Errno::ESOCKTNOSUPPORT),
        },
        _ => return refuse(call),
    };
    let file = opening::open(call.process, socket, flags)?;
    call.process.files().insert(file, flags.contains(OpenFlags::CLOSE_ON_EXEC)).map(|fd| fd as usize)
}

fn refuse(call: &Call<'_>) -> Result<usize> {
    static SAID: AtomicBool = AtomicBool::new(false);
    call.process.refused.note_socket(call.uint(0));
    if !SAID.swap(true, Ordering::Relaxed) {
        log::warn!(
            "{}: there is no network: socket() of domain {} is EAFNOSUPPORT",
            call.process.program().executable.escape_ascii(),
            call.int(0)
        );
    }
    Err(Errno::EAFNOSUPPORT)
}
