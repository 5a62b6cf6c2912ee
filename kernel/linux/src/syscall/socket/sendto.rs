// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sendto(2)`: sends a message; `send` of the C library, too.
//!
//! Honoured: addresses of datagrams, as for `connect`; `MSG_DONTWAIT`, `MSG_NOSIGNAL`; other flags have no meaning for these sockets.
//!
//! Refused: addresses of streams (`EISCONN`, `EOPNOTSUPP`), `MSG_OOB` (`EOPNOTSUPP`).

use super::{address, message};
use crate::Result;
use crate::call::Call;
use crate::files::segments::Segment;
use crate::socket::{Outgoing, Socket};
use crate::strace::signature;

signature!(Int, Input(2), Size, Hex, SocketAddress(5), Size);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    let from = Segment::new(call.arg(1), call.arg(2))?;
    let to = message::destination(call, socket, call.arg(4), call.int(5))?;
    let with = Outgoing { to, ..Outgoing::default() };
    message::send(call, socket, file.blocking(), from, with, call.uint(3))
}
