// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `recvfrom(2)`: receives a message; `recv` of the C library, too.
//!
//! Honoured: `MSG_PEEK`, `MSG_DONTWAIT`, `MSG_WAITALL`, `MSG_TRUNC`; the sender's address.
//!
//! Refused: `MSG_OOB` (`EINVAL`; not streams: `EOPNOTSUPP`).

use super::{address, message};
use crate::call::Call;
use crate::files::segments::Segment;
use crate::socket::Socket;
use crate::strace::signature;
use crate::{Result, memory};

signature!(Int, Output, Size, Hex, Address, Address);

pub(super) fn call(call: &mut Call<'_>) -> Result<usize> {
    let file = address::file(call, 0)?;
    let socket = Socket::of(&file)?;
    let into = Segment::new(call.arg(1), call.arg(2))?;
    let outcome = message::receive(call, socket, file.blocking(), into, None, call.uint(3))?;
    if call.arg(4) != 0 {
        match outcome.sender(socket) {
            Some(sender) => address::write(&sender, call.arg(4), call.arg(5))?,
            None => memory::write(call.arg(5), &0_i32)?,
        }
    }
    Ok(outcome.len)
}
